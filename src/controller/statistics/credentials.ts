/** The certificates and passwords of the servers, read out of the Secrets that their Memcacheds name. */
import type { Memcached } from '../../api/index.ts';
import type { Authentication } from '../../memcached/index.ts';
import { keyOf } from '../../runtime/key.ts';
import { bytesOf, type Secret } from '../secrets/content.ts';
import { type SecretReference, secretReferences } from '../secrets/references.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { type Access, accessWith, type CertificateFiles } from './access.ts';

/** Servers that ask for nothing. */
const OPEN: Access = { server: {} };

export class Credentials {
  readonly #secrets: Pick<Secrets, 'secret'>;
  /** What it takes to get at the servers of a Memcached, and what that was made of. */
  readonly #known = new Map<string, { readonly origin: string; readonly access: Access }>();

  constructor(secrets: Pick<Secrets, 'secret'>) {
    this.#secrets = secrets;
  }

  /** The same as the last time unless a Secret, or what the Memcached says of it, has changed. Rejects where it cannot be told. */
  async accessTo(memcached: Memcached, signal: AbortSignal): Promise<Access> {
    const references = secretReferences(memcached);
    if (references.length === 0) return OPEN;
    const named = await Promise.all(references.map((reference) => this.#read(memcached, reference, signal)));
    const requiresClientCertificate = memcached.spec.security?.tls?.enableClientCert === true;
    const origin = JSON.stringify([
      requiresClientCertificate,
      ...named.map(({ use, secret: { metadata } }) => [use, metadata.uid, metadata.resourceVersion]),
    ]);
    const key = keyOf(memcached);
    const known = this.#known.get(key);
    if (known?.origin === origin) return known.access;
    const find = (use: SecretReference['use']) => named.find((one) => one.use === use)?.secret;
    const [certificates, passwords] = [find('tls'), find('authentication')];
    const access = accessWith({
      tls: certificates && certificatesIn(certificates),
      requiresClientCertificate,
      authentication: passwords && authenticationIn(passwords, memcached.metadata.name),
    });
    this.#known.set(key, { origin, access });
    return access;
  }

  forget(key: string): void {
    this.#known.delete(key);
  }

  async #read({ metadata }: Memcached, { use, name }: SecretReference, signal: AbortSignal) {
    const secret = await this.#secrets.secret(`${metadata.namespace}/${name}`, signal);
    if (!secret) throw new Error(`Secret ${name} does not exist`);
    return { use, secret };
  }
}

export function certificatesIn(secret: Secret): CertificateFiles {
  const text = (key: string) => bytesOf(secret, key)?.toString();
  const client = { certificate: text('client.crt'), key: text('client.key') };
  return {
    certificate: text('tls.crt') ?? '',
    key: text('tls.key') ?? '',
    authority: text('ca.crt'),
    client:
      client.certificate !== undefined && client.key !== undefined
        ? { certificate: client.certificate, key: client.key }
        : undefined,
  };
}

/** The first user of the server. */
export function authenticationIn(secret: Secret, name: string): Authentication | undefined {
  const database = bytesOf(secret, 'memcached-sasl-db')?.toString().split('\n');
  const file = bytesOf(secret, 'password-file')?.toString().split('\n');
  for (const line of database ?? file ?? []) {
    const [, login = '', password = ''] = /^([^:]+):(.*)$/.exec(line) ?? [];
    if (!database && login !== '') return { form: 'password-file', user: login, password };
    const [user = '', realm] = login.split('@');
    if (database && realm === name) return { form: 'sasl', user, password };
  }
  return undefined;
}
