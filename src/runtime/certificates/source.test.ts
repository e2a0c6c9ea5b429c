import { X509Certificate } from 'node:crypto';
import { mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type CertifiedKey, createCertificate } from './certificate.ts';
import { certificateFiles, selfSigned, UnusableCertificate } from './source.ts';

const DAY = 86_400_000;

function newPair(subject: string): CertifiedKey {
  return createCertificate({ subject, notBefore: new Date(0), notAfter: new Date(DAY) });
}

async function directory(): Promise<string> {
  const made = await mkdtemp(path.join(tmpdir(), 'certificates-'));
  onTestFinished(() => rm(made, { recursive: true }));
  return made;
}

async function write(to: string, { certificate, key }: CertifiedKey): Promise<void> {
  await writeFile(path.join(to, 'tls.crt'), certificate);
  await writeFile(path.join(to, 'tls.key'), key);
}

test('reads what is there now, also where a Secret is swapped under it', async () => {
  const [first, second, mount] = [await directory(), await directory(), path.join(await directory(), 'mount')];
  const [old, renewed] = [newPair('old'), newPair('renewed')];
  await write(first, old);
  await write(second, renewed);
  await symlink(first, mount);
  const source = certificateFiles(mount);
  expect(await source()).toEqual(old);
  await symlink(second, `${mount}-new`);
  await rename(`${mount}-new`, mount);
  expect(await source()).toEqual(renewed);
});

test('says what is wrong, and where', async () => {
  const place = await directory();
  const source = certificateFiles(place);
  const complaint = async () => {
    const error: unknown = await source().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(UnusableCertificate);
    return (error as Error).message.replaceAll(place, '.');
  };
  expect(await complaint()).toBe('./tls.crt cannot be read');
  await write(place, { ...newPair('a'), key: newPair('b').key });
  expect(await complaint()).toBe('./tls.crt is not a certificate of the key ./tls.key');
  await write(place, { certificate: 'nonsense', key: newPair('b').key });
  expect(await complaint()).toBe('./tls.crt is not in PEM form');
  await write(place, { ...newPair('a'), key: 'nonsense' });
  expect(await complaint()).toBe('./tls.key is not in PEM form');
});

test('what vouches for itself is made anew before it ends, however the clock is set', async () => {
  let time = Date.parse('2030-01-01T00:00:00Z');
  const source = selfSigned({ subject: 'us', dnsNames: ['localhost'] }, () => new Date(time));
  const first = await source();
  const isValid = ({ certificate }: CertifiedKey) => {
    const { validFromDate, validToDate } = new X509Certificate(certificate);
    return validFromDate.getTime() < time && time < validToDate.getTime();
  };
  expect(isValid(first)).toBe(true);
  time += 200 * DAY;
  expect(await source()).toBe(first);
  time += 100 * DAY;
  const second = await source();
  expect(second).not.toBe(first);
  expect(isValid(second)).toBe(true);
  time -= 1000 * DAY;
  expect(isValid(await source())).toBe(true);
});
