import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { createCertificate } from '../../runtime/certificates/certificate.ts';
import {
  bundleOf,
  dataOf,
  isSound,
  type Keyring,
  keyringFrom,
  newKeyring,
  prepared,
  promoted,
  successorFrom,
  validityOf,
} from './keyring.ts';

const DAY = 86_400_000;
const now = Date.parse('2030-01-01T00:00:00Z');
const identity = { dnsNames: ['webhooks.system.svc', 'webhooks.system.svc.cluster.local'] };
const order = { identity, lifetimeMs: 90 * DAY, now };

/** As it comes back from the API. */
function stored(
  keyring: Keyring,
  changes: Record<string, string | undefined> = {},
): Record<string, string | undefined> {
  const data = Object.entries(dataOf(keyring)).map(([name, value]) => [name, value ?? undefined]);
  return { ...(Object.fromEntries(data) as Record<string, string>), ...changes };
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

const first = newKeyring(order);
const second = prepared(first, { ...order, now: now + 60 * DAY });
const third = promoted(second);

test('a new one is good for its names, for its lifetime, and a little before', () => {
  expect(keyringFrom(stored(first), order)).toEqual({
    serving: first.serving,
    authorities: [bundleOf(first).trim()],
  });
  expect(validityOf(first.serving)).toEqual({ from: now - 3_600_000, until: now + 90 * DAY });
  expect(new X509Certificate(first.serving.certificate).subjectAltName).toContain('DNS:webhooks.system.svc');
  const at = (time: number) => isSound(first.serving, { ...first, identity, now: time });
  expect([at(now - 3_600_001), at(now - 3_600_000), at(now + 90 * DAY - 1), at(now + 90 * DAY)]).toEqual([
    false,
    true,
    true,
    false,
  ]);
});

test('the key of the authority is nowhere', () => {
  const text = Object.values(stored(first))
    .map((value) => Buffer.from(value ?? '', 'base64').toString())
    .join('');
  expect(text.match(/PRIVATE KEY-----\n/g)).toHaveLength(2); // the beginning and the end of the one that is served
});

test('the successor is trusted before it is served, and the predecessor after it was', () => {
  expect(second.serving).toEqual(first.serving);
  expect(second.authorities).toHaveLength(2);
  expect(third).toEqual({ serving: second.next, authorities: second.authorities });
  for (const keyring of [second, third]) {
    for (const pair of [first.serving, third.serving])
      expect(isSound(pair, { ...keyring, identity, now: now + 70 * DAY })).toBe(true);
  }
  // It stays as long as it is valid, and no longer.
  expect(prepared(third, { ...order, now: now + 89 * DAY }).authorities).toHaveLength(3);
  expect(prepared(third, { ...order, now: now + 90 * DAY }).authorities).toHaveLength(2);
});

test('a Secret gives back what it was given', () => {
  const later = { identity, now: now + 70 * DAY };
  for (const keyring of [first, second, third]) {
    const { authorities, ...pairs } = keyringFrom(stored(keyring), later) ?? { authorities: [] };
    expect(pairs).toEqual({ serving: keyring.serving, ...(keyring.next && { next: keyring.next }) });
    expect(bundleOf({ ...keyring, authorities })).toBe(bundleOf(keyring));
  }
  expect(dataOf(third)).toMatchObject({ 'next.crt': null, 'next.key': null });
});

const foreign = newKeyring(order);
const selfSigned = createCertificate({
  subject: 'someone',
  ...identity,
  notBefore: new Date(now - DAY),
  notAfter: new Date(now + DAY),
});
const authority = createCertificate({
  subject: 'an authority',
  isAuthority: true,
  notBefore: new Date(now - 9 * DAY),
  notAfter: new Date(now + DAY),
});
const past = { notBefore: new Date(now - 9 * DAY), notAfter: new Date(now - 1) };
const expired = createCertificate({ subject: 'us', ...identity, ...past, issuer: authority });

/** The same certificate with a signature that nobody made. */
function forged(pem: string): string {
  const bytes = new X509Certificate(pem).raw;
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  return new X509Certificate(bytes).toString();
}

const elsewhere = newKeyring({ ...order, identity: { dnsNames: ['webhooks.system.svc'] } });

test.for<[string, Record<string, string | undefined>]>([
  ['nothing', { 'tls.crt': undefined, 'tls.key': undefined, 'ca.crt': undefined }],
  ['no key', { 'tls.key': undefined }],
  ['garbage for a key', { 'tls.key': base64('garbage') }],
  ["somebody else's key", { 'tls.key': stored(foreign)['tls.key'] }],
  ['garbage for a certificate', { 'tls.crt': base64('garbage') }],
  ['what is not even base64', { 'tls.crt': '%%%' }],
  ['an authority that did not sign it', { 'ca.crt': stored(foreign)['ca.crt'] }],
  ['no authority', { 'ca.crt': '' }],
  ['a forged signature', { 'tls.crt': base64(forged(first.serving.certificate)) }],
  [
    'an expired certificate of an authority that goes on',
    {
      'tls.crt': base64(expired.certificate),
      'tls.key': base64(expired.key),
      'ca.crt': base64(authority.certificate),
    },
  ],
  [
    'a garbled authority beside the right one',
    { 'ca.crt': base64(`${bundleOf(first)}${bundleOf(first).replace(/MI\w{8}/, '')}`) },
  ],
  [
    'a certificate that signed itself',
    {
      'tls.crt': base64(selfSigned.certificate),
      'tls.key': base64(selfSigned.key),
      'ca.crt': base64(selfSigned.certificate),
    },
  ],
  ['a certificate that lacks one of the names', stored(elsewhere)],
])('%s is not used', ([, changes]) => {
  expect(keyringFrom(stored(first, changes), order)).toBeUndefined();
});

test('a damaged successor is as good as none', () => {
  const later = { identity, now: now + 70 * DAY };
  const damaged = stored(second, { 'next.key': base64('garbage') });
  expect(keyringFrom(damaged, later)).toEqual({ serving: first.serving, authorities: expect.anything() as unknown });
});

test('of what cannot be used, the successor is saved', () => {
  const saved = { serving: second.next, authorities: expect.anything() as unknown };
  const damaged = stored(second, { 'tls.key': base64('garbage') });
  for (const [data, days] of [
    [damaged, 70],
    [stored(second), 91],
  ] as const) {
    const at = { identity, now: now + days * DAY };
    expect(keyringFrom(data, at)).toBeUndefined();
    expect(successorFrom(data, at)).toEqual(saved);
  }
  expect(successorFrom(stored(first), order)).toBeUndefined();
});

test('a short life is possible, too', () => {
  const short = newKeyring({ ...order, lifetimeMs: 10_000 });
  expect(validityOf(short.serving)).toEqual({ from: now - 1000, until: now + 10_000 });
});
