/** Who we are, by the user of a kubeconfig. */
import path from 'node:path';
import type { Access, Environment, Surroundings } from './access.ts';
import { type Credential, type Credentials, fileCredentials, fixedCredentials } from './credentials.ts';
import { ConfigurationError } from './errors.ts';
import { execCredentials } from './exec-plugin.ts';
import { decoded, type User } from './kubeconfig-files.ts';

/** Whoever may act for someone else does not want to act as himself. */
export function impersonation(user: User): Access['headers'] {
  const headers: Record<string, string | string[]> = {};
  if (user.as) headers['impersonate-user'] = user.as;
  if (user['as-uid']) headers['impersonate-uid'] = user['as-uid'];
  if (user['as-groups']) headers['impersonate-group'] = [...user['as-groups']];
  for (const [key, values] of Object.entries(user['as-user-extra'] ?? {})) {
    headers[`impersonate-extra-${encodeURIComponent(key.toLowerCase())}`] = [...values];
  }
  return headers;
}

interface CredentialSources {
  /** What a credential plugin is told about the cluster. */
  readonly cluster: () => Promise<unknown>;
  readonly env: Environment;
  readonly surroundings: Surroundings;
}

export function credentialsOf(user: User, { cluster, env, surroundings }: CredentialSources): Credentials {
  const unsupported = user['auth-provider'] ? 'auth-provider' : user.username ? 'username and password' : undefined;
  if (unsupported) {
    throw new ConfigurationError(`${unsupported}: Kubernetes dropped this; use a token, a certificate or exec`);
  }
  if (user.exec) {
    return execCredentials(user.exec, { env, directory: user.directory, cluster, now: surroundings.now });
  }
  const inline: Credential = {
    ...(user.token && { token: user.token }),
    ...(user['client-certificate-data'] && { certificate: decoded(user['client-certificate-data']) }),
    ...(user['client-key-data'] && { key: decoded(user['client-key-data']) }),
  };
  const file = (given: string | undefined, data: string | undefined) =>
    given && !data ? path.resolve(user.directory, given) : undefined;
  const files = {
    // The file wins over the token beside it, which is the one that it held when the kubeconfig was written.
    token: file(user.tokenFile, undefined),
    certificate: file(user['client-certificate'], inline.certificate),
    key: file(user['client-key'], inline.key),
  };
  if (Boolean(inline.certificate ?? files.certificate) !== Boolean(inline.key ?? files.key)) {
    throw new ConfigurationError('the kubeconfig has a client certificate without its key, or a key alone');
  }
  const isFixed = Object.values(files).every((value) => value === undefined);
  return isFixed ? fixedCredentials(inline) : fileCredentials(files, inline, surroundings);
}
