/** Authentication of clients in the pods. */
import { type DefaultedMemcached, GROUP } from '../api/index.ts';
import type { Protection } from './protection.ts';
import { fileMode, files } from './secret-files.ts';
import type { Surroundings } from './surroundings.ts';

const DIRECTORY = '/etc/memcached/authentication';
const VOLUME = 'authentication';
const CONFIGURATION = `${GROUP}/sasl-configuration`;

type Form = Omit<Protection, 'mountPath'>;

export function authentication(memcached: DefaultedMemcached, surroundings: Surroundings): Protection | undefined {
  const { enabled, credentialsSecretRef } = memcached.spec.security.sasl;
  if (!enabled) return undefined;
  const { authentication: found } = surroundings;
  const secret = credentialsSecretRef?.name;
  if (!found || !secret) throw new Error(`nothing is known of the credentials of Memcached ${memcached.metadata.name}`);
  const form = found.form === 'sasl' ? sasl(memcached, secret) : passwordFile(memcached, secret);
  const annotations = { [`${GROUP}/authentication-secret-hash`]: found.hash, ...form.annotations };
  return { ...form, mountPath: DIRECTORY, annotations };
}

/** Over the binary protocol. Users are looked up as user@hostname: all servers have the same, so that one line is enough. */
function sasl(memcached: DefaultedMemcached, name: string): Form {
  // Without its configuration memcached lets everyone in. A pod can read a file out of its own annotations, so no further object
  // is needed for it; and it is no secret, so that it is readable whoever memcached runs as.
  const fieldRef = { apiVersion: 'v1', fieldPath: `metadata.annotations['${CONFIGURATION}']` } as const;
  const sources = [
    { secret: { name, items: files('memcached-sasl-db') } },
    { downwardAPI: { items: [{ path: 'memcached.conf', mode: 0o444, fieldRef }] } },
  ];
  return {
    arguments: ['-S'],
    env: [
      { name: 'MEMCACHED_SASL_PWDB', value: `${DIRECTORY}/memcached-sasl-db` },
      { name: 'SASL_CONF_PATH', value: DIRECTORY },
    ],
    hostname: memcached.metadata.name,
    volume: { name: VOLUME, projected: { defaultMode: fileMode(memcached), sources } },
    annotations: { [CONFIGURATION]: 'mech_list: plain' },
    exemption: 'proto[ascii]:',
  };
}

/** Over the ASCII protocol. It holds for every listener, whatever its address. */
function passwordFile(memcached: DefaultedMemcached, secretName: string): Form {
  const items = files('password-file');
  return {
    arguments: ['-Y', `${DIRECTORY}/password-file`],
    volume: { name: VOLUME, secret: { secretName, defaultMode: fileMode(memcached), items } },
    annotations: {},
    exemption: undefined,
  };
}
