import { expect, test } from 'vitest';
import { authentication } from './authentication.ts';
import { example } from './example.ts';

const enabled = (security: object = {}) =>
  example({ security: { sasl: { enabled: true, credentialsSecretRef: { name: 'my-users' } }, ...security } });

test('SASL gets its database, its configuration and a hostname that all servers share', () => {
  const found = { authentication: { hash: 'abc', form: 'sasl' } } as const;
  expect(authentication(enabled(), found)).toEqual({
    arguments: ['-S'],
    env: [
      { name: 'MEMCACHED_SASL_PWDB', value: '/etc/memcached/authentication/memcached-sasl-db' },
      { name: 'SASL_CONF_PATH', value: '/etc/memcached/authentication' },
    ],
    hostname: 'my-cache',
    volume: {
      name: 'authentication',
      projected: {
        defaultMode: 0o440,
        sources: [
          { secret: { name: 'my-users', items: [{ key: 'memcached-sasl-db', path: 'memcached-sasl-db' }] } },
          {
            downwardAPI: {
              items: [
                {
                  path: 'memcached.conf',
                  mode: 0o444,
                  fieldRef: {
                    apiVersion: 'v1', // the server would add it
                    fieldPath: "metadata.annotations['memcached.c5c3.io/sasl-configuration']",
                  },
                },
              ],
            },
          },
        ],
      },
    },
    mountPath: '/etc/memcached/authentication',
    annotations: {
      'memcached.c5c3.io/authentication-secret-hash': 'abc',
      'memcached.c5c3.io/sasl-configuration': 'mech_list: plain',
    },
    exemption: 'proto[ascii]:',
  });
});

test('a password file is all that the ASCII protocol needs', () => {
  const found = { authentication: { hash: 'abc', form: 'password-file' } } as const;
  expect(authentication(enabled(), found)).toEqual({
    arguments: ['-Y', '/etc/memcached/authentication/password-file'],
    volume: {
      name: 'authentication',
      secret: {
        secretName: 'my-users',
        defaultMode: 0o440,
        items: [{ key: 'password-file', path: 'password-file' }],
      },
    },
    mountPath: '/etc/memcached/authentication',
    annotations: { 'memcached.c5c3.io/authentication-secret-hash': 'abc' },
    exemption: undefined,
  });
});

test.each(['sasl', 'password-file'] as const)(
  'the files of %s are readable also where no group is given to them',
  (form) => {
    const volume = authentication(enabled({ podSecurityContext: {} }), {
      authentication: { hash: 'abc', form },
    })?.volume;
    expect((volume?.projected ?? volume?.secret)?.defaultMode).toBe(0o444);
  },
);

test('adds nothing where it is off', () => {
  const sasl = { enabled: false, credentialsSecretRef: { name: 'my-users' } };
  expect(authentication(example({ security: { sasl } }), {})).toBeUndefined();
});

test('never goes on without credentials', () => {
  expect(() => authentication(enabled(), {})).toThrow('nothing is known of the credentials of Memcached my-cache');
});
