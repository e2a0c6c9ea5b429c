import { expect, test } from 'vitest';
import type { MemcachedSpec } from '../../api/index.ts';
import { example } from '../../children/example.ts';
import { createCertificate } from '../../runtime/certificates/certificate.ts';
import { ApiError } from '../../runtime/client/index.ts';
import { exampleSecret } from './example.ts';
import { factsOf } from './facts.ts';
import { inquire } from './inquiry.ts';
import { secretKeys } from './references.ts';
import type { Secrets } from './secrets.ts';

const NOW = new Date('2026-01-15T12:00:00Z');
const SOON = new Date('2026-02-15T12:00:00Z');
const { certificate, key } = createCertificate({ subject: 'x', notBefore: new Date(0), notAfter: SOON });

const secrets: Pick<Secrets, 'facts'> = {
  facts: (name) => {
    if (name === 'default/tls')
      return Promise.resolve(factsOf(exampleSecret({ 'tls.crt': certificate, 'tls.key': key })));
    if (name === 'default/users')
      return Promise.resolve(factsOf(exampleSecret({ 'memcached-sasl-db': 'a@my-cache:b' })));
    if (name === 'default/forbidden') return Promise.reject(new ApiError(403, { message: 'you may not' }));
    return Promise.resolve(undefined);
  },
};

function security(tls: string | undefined, sasl?: string): MemcachedSpec {
  return {
    security: {
      ...(tls !== undefined && { tls: { enabled: true, certificateSecretRef: { name: tls } } }),
      ...(sasl !== undefined && { sasl: { enabled: true, credentialsSecretRef: { name: sasl } } }),
    },
  };
}

const ask = (spec: MemcachedSpec) => inquire(example(spec), secrets, NOW, new AbortController().signal);

test('nothing named, nothing wrong', async () => {
  expect(await ask({})).toEqual({ found: {}, faults: [] });
});

test('good Secrets are found, and the time when they will not be', async () => {
  const { found, faults, changesAt } = await ask(security('tls', 'users'));
  expect(found).toMatchObject({ tls: { hasCa: false }, authentication: { form: 'sasl' } });
  expect(faults).toEqual([]);
  expect(changesAt).toBe(SOON.getTime() + 1);
});

test.each([
  [
    'missing',
    security('nowhere'),
    'SecretNotFound',
    'Secret nowhere does not exist: create it, or correct spec.security.tls',
  ],
  ['no good', security('users'), 'SecretInvalid', 'Secret users: tls.crt is missing'],
  ['not to be read', security('forbidden'), 'ApplyFailed', 'Secret forbidden cannot be read: you may not'],
  [
    'without an authority',
    { security: { tls: { enabled: true, enableClientCert: true, certificateSecretRef: { name: 'tls' } } } },
    'SecretInvalid',
    'ca.crt is missing',
  ],
])('a Secret that is %s', async (_, spec, reason, words) => {
  const { found, faults, error } = await ask(spec);
  expect(found).toEqual({});
  expect(faults).toMatchObject([{ reason, message: expect.stringContaining(words) }]);
  expect(error !== undefined).toBe(reason === 'ApplyFailed');
});

test('one bad Secret does not hide another', async () => {
  const { faults } = await ask(security('nowhere', 'tls'));
  expect(faults.map(({ reason }) => reason)).toEqual(['SecretNotFound', 'SecretInvalid']);
});

test('only features that are switched on name Secrets', () => {
  expect(secretKeys(example(security('tls', 'users')))).toEqual(['default/tls', 'default/users']);
  const off = { tls: { enabled: false, certificateSecretRef: { name: 'tls' } } };
  expect(secretKeys(example({ security: off }))).toEqual([]);
});
