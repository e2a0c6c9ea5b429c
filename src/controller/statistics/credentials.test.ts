import { expect, test } from 'vitest';
import type { Memcached, MemcachedSpec } from '../../api/index.ts';
import { createCertificate } from '../../runtime/certificates/certificate.ts';
import { exampleSecret } from '../secrets/example.ts';
import { authenticationIn, Credentials, certificatesIn } from './credentials.ts';

const NAME = 'my-cache';
const { signal } = new AbortController();

test.each<[string, Record<string, string>, ReturnType<typeof authenticationIn>]>([
  ['nothing', {}, undefined],
  [
    'a database',
    { 'memcached-sasl-db': 'a@other:1\nkeystone@my-cache:pa@ss\n' },
    { form: 'sasl', user: 'keystone', password: 'pa@ss' },
  ],
  ['a database of others', { 'memcached-sasl-db': 'a@other:1\n' }, undefined],
  [
    'a password file',
    { 'password-file': 'keystone:a:b\nsecond:c\n' },
    { form: 'password-file', user: 'keystone', password: 'a:b' },
  ],
  [
    'both',
    { 'password-file': 'x:y\n', 'memcached-sasl-db': 'k@my-cache:p' },
    { form: 'sasl', user: 'k', password: 'p' },
  ],
])('passwords: %s', (_, data, authentication) => {
  expect(authenticationIn(exampleSecret(data), NAME)).toEqual(authentication);
});

const life = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
const pair = createCertificate({ ...life, subject: 'memcached' });
const tls = { 'tls.crt': pair.certificate, 'tls.key': pair.key };

test('a pair for clients is taken only whole', () => {
  expect(certificatesIn(exampleSecret({ ...tls, 'client.crt': 'c' })).client).toBeUndefined();
  const whole = exampleSecret({ ...tls, 'client.crt': 'c', 'client.key': 'k' });
  expect(certificatesIn(whole).client).toEqual({ certificate: 'c', key: 'k' });
});

function memcached(security: MemcachedSpec['security']): Memcached {
  const spec = { security } as MemcachedSpec;
  return {
    apiVersion: 'memcached.c5c3.io/v1alpha1',
    kind: 'Memcached',
    metadata: { name: NAME, namespace: 'default' },
    spec,
  };
}

/** A cluster with one Secret of changing versions. */
function cluster(data: Record<string, string>) {
  const state = { version: '1', reads: 0 };
  const credentials = new Credentials({
    secret: async () => {
      state.reads += 1;
      return exampleSecret(data, state.version);
    },
  });
  return { state, credentials };
}

test('servers that ask for nothing are asked without anything being read', async () => {
  const { state, credentials } = cluster({});
  expect(await credentials.accessTo(memcached({}), signal)).toBe(await credentials.accessTo(memcached({}), signal));
  expect(state.reads).toBe(0);
});

test('the way in is the same as long as the Secret is', async () => {
  const { state, credentials } = cluster({ ...tls, 'memcached-sasl-db': 'k@my-cache:p' });
  const secured = memcached({
    tls: { enabled: true, certificateSecretRef: { name: 'secret' } },
    sasl: { enabled: true, credentialsSecretRef: { name: 'secret' } },
  });
  const first = await credentials.accessTo(secured, signal);
  expect(first.server).toMatchObject({ tls: expect.anything(), authentication: { user: 'k' } });
  expect(first.stranger).toBeUndefined();
  expect(await credentials.accessTo(secured, signal)).toBe(first);
  state.version = '2';
  expect(await credentials.accessTo(secured, signal)).not.toBe(first);
});

test('where clients have to show a certificate, a stranger is made up who has none', async () => {
  const { credentials } = cluster(tls);
  const reference = { enabled: true, certificateSecretRef: { name: 'secret' }, enableClientCert: true };
  expect((await credentials.accessTo(memcached({ tls: reference }), signal)).stranger).toBeDefined();
});

test('a Secret that makes no sense is an error', async () => {
  const { credentials } = cluster({ 'tls.crt': 'x', 'tls.key': 'y' });
  const secured = memcached({
    tls: { enabled: true, certificateSecretRef: { name: 'secret' }, enableClientCert: true },
  });
  await expect(credentials.accessTo(secured, signal)).rejects.toThrow(/PEM/);
});
