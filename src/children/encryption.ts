/** TLS in the pods. */
import { type DefaultedMemcached, GROUP } from '../api/index.ts';
import type { Protection } from './protection.ts';
import { fileMode, files } from './secret-files.ts';
import type { Surroundings } from './surroundings.ts';

const DIRECTORY = '/etc/memcached/tls';

export function encryption(memcached: DefaultedMemcached, { tls }: Surroundings): Protection | undefined {
  const { enabled, enableClientCert, certificateSecretRef } = memcached.spec.security.tls;
  if (!enabled) return undefined;
  const secretName = certificateSecretRef?.name;
  if (!tls || !secretName)
    throw new Error(`nothing is known of the certificate of Memcached ${memcached.metadata.name}`);
  const options = [
    `ssl_chain_cert=${DIRECTORY}/tls.crt`,
    `ssl_key=${DIRECTORY}/tls.key`,
    ...(tls.hasCa ? [`ssl_ca_cert=${DIRECTORY}/ca.crt`] : []),
    ...(enableClientCert ? ['ssl_verify_mode=2'] : []),
  ];
  // Not the whole Secret: a client's key may be in it, which is no business of the servers.
  const items = files('tls.crt', 'tls.key', ...(tls.hasCa ? ['ca.crt'] : []));
  return {
    arguments: ['-Z', '-o', options.join(',')],
    volume: { name: 'tls', secret: { secretName, defaultMode: fileMode(memcached), items } },
    mountPath: DIRECTORY,
    annotations: { [`${GROUP}/tls-secret-hash`]: tls.hash },
    exemption: 'notls:',
  };
}
