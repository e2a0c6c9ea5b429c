/** Access to the API as kubectl has it: by kubeconfig files. */
import path from 'node:path';
import { type Access, type Environment, realSurroundings, type Surroundings } from './access.ts';
import { ConfigurationError } from './errors.ts';
import { type Cluster, decoded, readKubeconfigs } from './kubeconfig-files.ts';
import { credentialsOf, impersonation } from './kubeconfig-user.ts';

export interface KubeconfigOptions {
  /** In the order of their weight. */
  readonly files: readonly string[];
  /** Instead of the current one. */
  readonly context?: string | undefined;
  readonly env: Environment;
  readonly surroundings?: Surroundings;
}

export async function kubeconfigAccess(options: KubeconfigOptions): Promise<Access> {
  const { files, env, surroundings = realSurroundings } = options;
  const config = await readKubeconfigs(files, surroundings.read);
  const name = options.context ?? config.currentContext;
  if (name === undefined) {
    const advice = 'choose one with --context or `kubectl config use-context`';
    throw new ConfigurationError(`no context is chosen in ${files.join(':')}; ${advice}${choice(config.contexts)}`);
  }
  const context = entryOf(config.contexts, name, 'the context', config.files);
  const cluster = entryOf(config.clusters, context.cluster ?? '', `the cluster of context "${name}"`, config.files);
  const user = context.user
    ? entryOf(config.users, context.user, `the user of context "${name}"`, config.files)
    : { directory: '' };
  checkCluster(cluster);
  return {
    server: serverOf(cluster),
    inCluster: false,
    namespace: context.namespace || 'default',
    authority: () => authorityOf(cluster, surroundings),
    insecure: cluster['insecure-skip-tls-verify'] ?? false,
    serverName: cluster['tls-server-name'] || undefined,
    headers: impersonation(user),
    credentials: credentialsOf(user, { env, surroundings, cluster: () => clusterInfo(cluster, surroundings) }),
  };
}

function entryOf<Entry>(
  entries: ReadonlyMap<string, Entry>,
  name: string,
  what: string,
  files: readonly string[],
): Entry {
  const entry = entries.get(name);
  if (entry) return entry;
  throw new ConfigurationError(`${what}, "${name}", is not in ${files.join(':')}${choice(entries)}`);
}

function choice(known: ReadonlyMap<string, unknown>): string {
  return known.size === 0 ? '' : `; there is: ${[...known.keys()].join(', ')}`;
}

function checkCluster(cluster: Cluster): void {
  const { 'certificate-authority-data': data, 'certificate-authority': file, 'proxy-url': proxy } = cluster;
  if (cluster['insecure-skip-tls-verify'] && (data || file)) {
    throw new ConfigurationError('insecure-skip-tls-verify and a certificate authority exclude each other: drop one');
  }
  if (proxy) throw new ConfigurationError('proxy-url: reaching the API by a proxy is not supported');
}

function serverOf({ server }: Cluster): string {
  const url = URL.parse(server ?? '');
  if (url?.protocol !== 'https:') {
    throw new ConfigurationError(`the server "${server ?? ''}" is not an https URL; plain HTTP is not supported`);
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}

async function authorityOf(cluster: Cluster, { read }: Surroundings): Promise<string | undefined> {
  const { 'certificate-authority-data': data, 'certificate-authority': file } = cluster;
  if (data) return decoded(data);
  return file ? read(path.resolve(cluster.directory, file)) : undefined;
}

/** The cluster as a credential plugin is told about it. */
async function clusterInfo(cluster: Cluster, surroundings: Surroundings): Promise<unknown> {
  const authority = await authorityOf(cluster, surroundings);
  return {
    server: cluster.server,
    'tls-server-name': cluster['tls-server-name'],
    'insecure-skip-tls-verify': cluster['insecure-skip-tls-verify'],
    'certificate-authority-data': authority && Buffer.from(authority).toString('base64'),
    config: cluster.extensions?.find(({ name }) => name === 'client.authentication.k8s.io/exec')?.extension,
  };
}
