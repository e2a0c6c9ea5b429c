/** The Secrets that a Memcached names. */
import type { Memcached } from '../../api/index.ts';

export interface SecretReference {
  readonly use: 'tls' | 'authentication';
  readonly name: string;
  /** Where it is named. */
  readonly field: string;
}

/** Those that are of use: what belongs to a feature that is switched off is not looked at. */
export function secretReferences({ spec: { security = {} } }: Memcached): SecretReference[] {
  const { tls, sasl } = security;
  const certificate = tls?.enabled ? tls.certificateSecretRef?.name : undefined;
  const credentials = sasl?.enabled ? sasl.credentialsSecretRef?.name : undefined;
  return [
    ...(certificate
      ? [{ use: 'tls', name: certificate, field: 'spec.security.tls.certificateSecretRef' } as const]
      : []),
    ...(credentials
      ? [{ use: 'authentication', name: credentials, field: 'spec.security.sasl.credentialsSecretRef' } as const]
      : []),
  ];
}

/** The keys of those Secrets, to find a Memcached by. */
export function secretKeys(memcached: Memcached): string[] {
  return secretReferences(memcached).map(({ name }) => `${memcached.metadata.namespace}/${name}`);
}
