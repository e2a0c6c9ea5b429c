import { expect, test } from 'vitest';
import { memcachedArguments } from './arguments.ts';
import { authentication } from './authentication.ts';
import { encryption } from './encryption.ts';
import { example } from './example.ts';
import type { Surroundings } from './surroundings.ts';

const PLAIN = '-m 64 -c 1024 -t 4 -I 1m';

test.each([
  [{}, PLAIN],
  [{ maxMemoryMB: 2048, maxConnections: 4096, threads: 8, maxItemSize: '2m' }, '-m 2048 -c 4096 -t 8 -I 2m'],
  [{ verbosity: 1 }, `${PLAIN} -v`],
  [{ verbosity: 2 }, `${PLAIN} -vv`],
  [{ extraArgs: ['-o', 'modern'] }, `${PLAIN} -o modern`],
  [{ verbosity: 1, extraArgs: ['-C'] }, `${PLAIN} -v -C`],
])('%j', (memcached, line) => {
  expect(memcachedArguments(example({ memcached }).spec, []).join(' ')).toBe(line);
});

const TLS = '-Z -o ssl_chain_cert=/etc/memcached/tls/tls.crt,ssl_key=/etc/memcached/tls/tls.key';
const MTLS = `${TLS},ssl_ca_cert=/etc/memcached/tls/ca.crt,ssl_verify_mode=2`;
const PASSWORDS = '-Y /etc/memcached/authentication/password-file';

const tls = { hash: 'a', hasCa: false };
const ca = { hash: 'a', hasCa: true };
const sasl = { hash: 'b', form: 'sasl' } as const;
const passwords = { hash: 'b', form: 'password-file' } as const;

type Case = [title: string, surroundings: Surroundings, isMutual: boolean, options: string, listener: string];

test.each<Case>([
  ['TLS', { tls }, false, TLS, '-l *:11211,notls:127.0.0.1:11212'],
  [
    'TLS with an authority',
    { tls: ca },
    false,
    `${TLS},ssl_ca_cert=/etc/memcached/tls/ca.crt`,
    '-l *:11211,notls:127.0.0.1:11212',
  ],
  ['mTLS', { tls: ca }, true, MTLS, '-l *:11211,notls:127.0.0.1:11212'],
  ['SASL', { authentication: sasl }, false, '-S', '-l *:11211,proto[ascii]:127.0.0.1:11212'],
  ['TLS and SASL', { tls, authentication: sasl }, false, `${TLS} -S`, '-l *:11211,notls:proto[ascii]:127.0.0.1:11212'],
  [
    'mTLS and SASL',
    { tls: ca, authentication: sasl },
    true,
    `${MTLS} -S`,
    '-l *:11211,notls:proto[ascii]:127.0.0.1:11212',
  ],
  ['a password file', { authentication: passwords }, false, PASSWORDS, ''],
  ['TLS and a password file', { tls, authentication: passwords }, false, `${TLS} ${PASSWORDS}`, ''],
])('%s', (_, surroundings, enableClientCert, options, listener) => {
  const memcached = (enabled: boolean) =>
    example({
      memcached: { extraArgs: ['-o', 'modern'] },
      monitoring: { enabled },
      security: {
        tls: { enabled: surroundings.tls !== undefined, enableClientCert, certificateSecretRef: { name: 'c' } },
        sasl: { enabled: surroundings.authentication !== undefined, credentialsSecretRef: { name: 's' } },
      },
    });
  const line = (isMonitored: boolean) => {
    const of = memcached(isMonitored);
    const protections = [encryption(of, surroundings), authentication(of, surroundings)];
    return memcachedArguments(
      of.spec,
      protections.filter((one) => one !== undefined),
    ).join(' ');
  };
  expect(line(true)).toBe([PLAIN, options, listener, '-o modern'].filter(Boolean).join(' '));
  expect(line(false)).toBe([PLAIN, options, '-o modern'].join(' ')); // nobody needs the second listener
});
