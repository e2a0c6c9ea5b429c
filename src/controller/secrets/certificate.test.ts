import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { createCertificate } from '../../runtime/certificates/certificate.ts';
import { examineCertificate, judgeCertificate, type Verdict } from './certificate.ts';
import { exampleSecret as secret } from './example.ts';

const NOW = new Date('2026-01-15T12:00:00Z');
const DAY = 86_400_000;
const days = (count: number) => new Date(NOW.getTime() + count * DAY);

function pair(from: number, until: number, isAuthority = false) {
  return createCertificate({ subject: 'CANARY', notBefore: days(from), notAfter: days(until), isAuthority });
}

function judge(data: Readonly<Record<string, string>>, needsCa = false): Verdict {
  return judgeCertificate(examineCertificate(secret(data)), { needsCa, now: NOW });
}

const good = pair(-1, 30);
const other = pair(-1, 30);
const expired = pair(-30, -1);
const future = pair(2, 30);
const authority = pair(-1, 10, true);
const expiredAuthority = pair(-30, -1, true);
const tls = { 'tls.crt': good.certificate, 'tls.key': good.key };
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const pkcs8 = { type: 'pkcs8', format: 'pem' } as const;
const encrypted = rsa.export({ ...pkcs8, cipher: 'aes-256-cbc', passphrase: 'CANARY' }) as string;

const FINE = 'nothing is wrong';

test.each<[string, Record<string, string>, boolean, string]>([
  ['a pair', tls, false, FINE],
  ['a pair with a chain behind it', { ...tls, 'tls.crt': good.certificate + authority.certificate }, false, FINE],
  ['a pair with Windows line ends', { ...tls, 'tls.crt': good.certificate.replaceAll('\n', '\r\n') }, false, FINE],
  ['a chain in the wrong order', { ...tls, 'tls.crt': authority.certificate + good.certificate }, false, 'not the key'],
  ['nothing', {}, false, 'tls.crt is missing'],
  ['no key', { 'tls.crt': good.certificate }, false, 'tls.key is missing'],
  ['an empty key', { ...tls, 'tls.key': '' }, false, 'tls.key is missing'],
  ['no certificate', { 'tls.key': good.key }, false, 'tls.crt is missing'],
  ['garbage for a certificate', { ...tls, 'tls.crt': 'CANARY' }, false, 'tls.crt has no readable certificate'],
  ['a damaged certificate', { ...tls, 'tls.crt': good.certificate.replace('MII', 'CANARY') }, false, 'no readable'],
  ['half a certificate', { ...tls, 'tls.crt': good.certificate.slice(0, 200) }, false, 'no readable certificate'],
  [
    'a damaged chain',
    { ...tls, 'tls.crt': `${good.certificate}${good.certificate.slice(0, 200)}` },
    false,
    'no readable',
  ],
  ['garbage for a key', { ...tls, 'tls.key': 'CANARY' }, false, 'tls.key is no readable private key'],
  ['a key with a passphrase', { ...tls, 'tls.key': encrypted }, false, 'without a passphrase'],
  ["another one's key", { ...tls, 'tls.key': other.key }, false, 'tls.key is not the key of tls.crt'],
  ['a key of another sort', { ...tls, 'tls.key': rsa.export(pkcs8) as string }, false, 'tls.key is not the key'],
  ['expired', { 'tls.crt': expired.certificate, 'tls.key': expired.key }, false, 'expired on 2026-01-14T12:00:00Z'],
  ['not yet valid', { 'tls.crt': future.certificate, 'tls.key': future.key }, false, 'not valid before 2026-01-17'],
  ['an authority', { ...tls, 'ca.crt': authority.certificate }, true, FINE],
  ['an authority that is needed and missing', tls, true, 'ca.crt is missing'],
  ['an authority that is none, and is not needed', { ...tls, 'ca.crt': good.certificate }, false, FINE],
  ['an authority that is none', { ...tls, 'ca.crt': good.certificate }, true, 'no certificate of an authority'],
  ['garbage for an authority', { ...tls, 'ca.crt': 'CANARY' }, false, 'ca.crt has no readable certificate'],
  ['an expired authority', { ...tls, 'ca.crt': expiredAuthority.certificate }, true, 'ca.crt expired on 2026-01-14'],
  ['an expired authority that is not needed', { ...tls, 'ca.crt': expiredAuthority.certificate }, false, FINE],
  [
    'an expired authority beside a good one',
    { ...tls, 'ca.crt': expiredAuthority.certificate + authority.certificate },
    true,
    FINE,
  ],
])('%s', (_, data, needsCa, expected) => {
  const { flaw } = judge(data, needsCa);
  expect(flaw ?? FINE).toContain(expected);
  expect(flaw ?? '').not.toContain('CANARY');
  expect(JSON.stringify(examineCertificate(secret(data)))).not.toContain('CANARY');
});

test('tells when the verdict will change by itself', () => {
  expect(judge(tls).changesAt).toBe(days(30).getTime() + 1);
  expect(judge({ ...tls, 'ca.crt': authority.certificate }, true).changesAt).toBe(days(10).getTime() + 1);
  expect(judge({ 'tls.crt': future.certificate, 'tls.key': future.key }).changesAt).toBe(days(2).getTime());
  expect(judge({ 'tls.crt': expired.certificate, 'tls.key': expired.key }).changesAt).toBeUndefined();
});

test('the hash follows what servers use, and nothing else', () => {
  const hash = (data: Record<string, string>) => examineCertificate(secret(data)).hash;
  const withAuthority = { ...tls, 'ca.crt': authority.certificate };
  expect(new Set([hash(tls), hash(withAuthority), hash({ ...tls, 'tls.key': other.key })]).size).toBe(3);
  expect(hash({ ...tls, 'client.crt': 'x' })).toBe(hash(tls));
});
