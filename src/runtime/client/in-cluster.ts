/** Access to the API from inside a pod, by its service account. */
import { type Access, type Environment, realSurroundings, type Surroundings } from './access.ts';
import { fileCredentials } from './credentials.ts';
import { ConfigurationError } from './errors.ts';

const DIRECTORY = '/var/run/secrets/kubernetes.io/serviceaccount';

export function isInCluster(env: Environment): boolean {
  return Boolean(env['KUBERNETES_SERVICE_HOST'] && env['KUBERNETES_SERVICE_PORT']);
}

export async function inClusterAccess(
  env: Environment,
  surroundings: Surroundings = realSurroundings,
  directory = DIRECTORY,
): Promise<Access> {
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '' } = env;
  if (!isInCluster(env)) {
    throw new ConfigurationError('KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is not a pod');
  }
  const { read } = surroundings;
  const token = `${directory}/token`;
  await read(token).catch((error: unknown) => {
    const hint = 'does its pod set automountServiceAccountToken: false?';
    throw new ConfigurationError(`the service account's token ${token} cannot be read; ${hint}`, { cause: error });
  });
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    inCluster: true,
    namespace: (await read(`${directory}/namespace`).catch(() => '')).trim() || 'default',
    authority: () => read(`${directory}/ca.crt`),
    insecure: false,
    headers: {},
    credentials: fileCredentials({ token }, {}, surroundings),
  };
}
