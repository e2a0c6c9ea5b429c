import { expect, test } from 'vitest';
import { encryption } from './encryption.ts';
import { example } from './example.ts';

const enabled = (security: object = {}) =>
  example({ security: { tls: { enabled: true, certificateSecretRef: { name: 'my-tls' } }, ...security } });

test('takes only what servers need out of the Secret, and follows its content', () => {
  expect(encryption(enabled(), { tls: { hash: 'abc', hasCa: true } })).toMatchObject({
    volume: {
      name: 'tls',
      secret: {
        secretName: 'my-tls',
        defaultMode: 0o440,
        items: ['tls.crt', 'tls.key', 'ca.crt'].map((key) => ({ key, path: key })),
      },
    },
    mountPath: '/etc/memcached/tls',
    annotations: { 'memcached.c5c3.io/tls-secret-hash': 'abc' },
  });
});

test('asks for no authority that the Secret does not have', () => {
  const items = encryption(enabled(), { tls: { hash: 'abc', hasCa: false } })?.volume.secret?.items;
  expect(items?.map(({ key }) => key)).toEqual(['tls.crt', 'tls.key']);
});

test('files are readable also where no group is given to them', () => {
  const of = enabled({ podSecurityContext: { runAsUser: 1000 } });
  expect(encryption(of, { tls: { hash: 'abc', hasCa: false } })?.volume.secret?.defaultMode).toBe(0o444);
});

test('adds nothing where it is off', () => {
  const tls = { enabled: false, certificateSecretRef: { name: 'my-tls' } };
  expect(encryption(example({ security: { tls } }), {})).toBeUndefined();
});

test('never goes on without a certificate', () => {
  expect(() => encryption(enabled(), {})).toThrow('nothing is known of the certificate of Memcached my-cache');
});
