/** Certificates, as OpenSSL, Node and a TLS handshake see them. */
import { execFile } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, isIP } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checkServerIdentity, connect, createServer } from 'node:tls';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { type CertificateOptions, type CertifiedKey, createCertificate } from './certificate.ts';

const DAY = 86_400_000;
const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + DAY) };

const authority = createCertificate({ subject: 'our authority', ...validity, isAuthority: true });
const served = {
  subject: 'webhooks',
  dnsNames: ['webhooks.system.svc', '*.example.org', 'localhost'],
  ipAddresses: ['10.1.2.3', '::1', 'fe80::1:2', '2001:db8::'],
  ...validity,
};
const leaf = createCertificate({ ...served, issuer: authority });

/** What openssl says to it; rejects when it finds fault. */
async function openssl(files: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'certificate-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(directory, name), text);
  return (await promisify(execFile)('openssl', args, { cwd: directory })).stdout;
}

const strictly = ['verify', '-x509_strict', '-check_ss_sig', '-purpose', 'sslserver', '-CAfile', 'ca.pem'];

test('openssl, at its strictest, takes a server that our authority vouches for', async () => {
  const files = { 'ca.pem': authority.certificate, 'leaf.pem': leaf.certificate };
  for (const name of ['-verify_hostname webhooks.system.svc', '-verify_ip 10.1.2.3', '-verify_ip fe80::1:2'])
    expect(await openssl(files, ...strictly, ...name.split(' '), 'leaf.pem')).toContain('OK');
  await expect(openssl(files, ...strictly, '-verify_hostname', 'elsewhere', 'leaf.pem')).rejects.toThrow('mismatch');
});

test('openssl refuses it under another authority of the same name', async () => {
  const other = createCertificate({ subject: 'our authority', ...validity, isAuthority: true });
  const files = { 'ca.pem': other.certificate, 'leaf.pem': leaf.certificate };
  await expect(openssl(files, ...strictly, 'leaf.pem')).rejects.toThrow('unable to get local issuer certificate');
});

test('openssl reads everything that we wrote', async () => {
  const print = (text: string) => openssl({ 'c.pem': text }, 'x509', '-noout', '-text', '-in', 'c.pem');
  const [ca, server] = [await print(authority.certificate), await print(leaf.certificate)];
  expect(ca).toMatch(/Version: 3[^]*CN ?= ?our authority[^]*NIST CURVE: P-256/);
  expect(ca).toMatch(/Basic Constraints: critical\s+CA:TRUE[^]*Key Usage: critical\s+Certificate Sign, CRL Sign/);
  expect(server).toMatch(/Issuer: CN ?= ?our authority[^]*Subject: CN ?= ?webhooks/);
  expect(server).toMatch(/CA:FALSE[^]*Key Usage: critical\s+Digital Signature[^]*TLS Web Server Authentication/);
  expect(server).toContain('DNS:webhooks.system.svc, DNS:*.example.org, DNS:localhost, IP Address:10.1.2.3');
  const keyIds = (text: string, of: string) =>
    new RegExp(`${of} Key Identifier:\\s+(?:keyid:)?([0-9A-F:]+)`).exec(text)?.[1];
  expect(keyIds(server, 'Authority')).toBe(keyIds(ca, 'Subject'));
  expect(keyIds(server, 'Subject')).not.toBe(keyIds(ca, 'Subject'));
});

test('a certificate may vouch for itself', async () => {
  const own = createCertificate(served);
  const read = new X509Certificate(own.certificate);
  expect([read.ca, read.verify(read.publicKey), read.checkPrivateKey(createPrivateKey(own.key))]).toEqual([
    false,
    true,
    true,
  ]);
  expect(await handshake(own, own.certificate, 'localhost')).toBe('TLSv1.3');
});

test('a handshake succeeds by name and by address, and not under another name', async () => {
  expect(await handshake(leaf, authority.certificate, 'webhooks.system.svc')).toBe('TLSv1.3');
  expect(await handshake(leaf, authority.certificate, '10.1.2.3')).toBe('TLSv1.3');
  expect(await handshake(leaf, authority.certificate, 'elsewhere')).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
  expect(await handshake(createCertificate(served), authority.certificate, 'localhost')).toMatch(/SELF_SIGNED/);
});

/** The protocol that was agreed on, or the code of the error. */
async function handshake({ certificate: cert, key }: CertifiedKey, ca: string, host: string): Promise<string> {
  const server = createServer({ cert, key }, (socket) => socket.end());
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve) => {
    const socket = connect({
      port,
      ca,
      servername: isIP(host) ? '' : host,
      checkServerIdentity: (_, peer) => checkServerIdentity(host, peer),
    });
    socket.once('secureConnect', () => {
      resolve(socket.getProtocol() ?? 'none');
      socket.destroy();
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$/);
const moment = fc.date({ min: new Date('1990-01-01'), max: new Date('2090-01-01'), noInvalidDate: true });

test('Node reads back every name, address and time', () => {
  const arbitrary = fc.record({
    subject: fc.stringMatching(/^[A-Za-z0-9]([A-Za-z0-9.:@/ -]{0,62}[A-Za-z0-9])?$/),
    dnsNames: fc.array(
      fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.')),
      { maxLength: 20 },
    ),
    ipAddresses: fc.array(fc.oneof(fc.ipV4(), fc.ipV6())),
    times: fc.tuple(moment, moment).filter(([from, to]) => to.getTime() - from.getTime() >= 1000),
    isAuthority: fc.boolean(),
  });
  fc.assert(
    fc.property(arbitrary, ({ times: [notBefore, notAfter], ...rest }) => {
      const read = new X509Certificate(
        createCertificate({ ...rest, notBefore, notAfter, issuer: authority }).certificate,
      );
      expect(read.subject).toBe(`CN=${rest.subject}`);
      expect(read.ca).toBe(rest.isAuthority);
      for (const name of rest.dnsNames) expect(read.checkHost(name)).toBe(name);
      for (const address of rest.ipAddresses) expect(read.checkIP(address)).toBe(address);
      expect(read.validFromDate.getTime()).toBe(Math.floor(notBefore.getTime() / 1000) * 1000);
      expect(read.validToDate.getTime()).toBe(Math.floor(notAfter.getTime() / 1000) * 1000);
      expect(read.checkIssued(new X509Certificate(authority.certificate))).toBe(true);
      expect(read.verify(new X509Certificate(authority.certificate).publicKey)).toBe(true);
    }),
  );
});

test('no two have the same number, and none is negative', () => {
  const numbers = Array.from(
    { length: 50 },
    () => new X509Certificate(createCertificate(served).certificate).serialNumber,
  );
  expect(new Set(numbers).size).toBe(50);
  for (const number of numbers) expect(number).toMatch(/^[0-9A-F]+$/);
});

test.for<[string, Partial<CertificateOptions>]>([
  ['cannot be the name of a certificate', { subject: 'a,CN=b' }],
  ['cannot be the name of a certificate', { subject: '' }],
  ['cannot be the name of a certificate', { subject: 'x'.repeat(65) }],
  ['is not a DNS name', { dnsNames: ['a b'] }],
  ['is not a DNS name', { dnsNames: ['bücher.example'] }],
  ['is not an IP address', { ipAddresses: ['1.2.3'] }],
  ['is not an IP address', { ipAddresses: ['fe80::1%eth0'] }],
  ['has to be valid for some time', { notBefore: validity.notAfter, notAfter: validity.notBefore }],
  ['has to be valid for some time', { notAfter: new Date(Number.NaN) }],
  ['the issuer is not an authority', { issuer: leaf }],
  ['its key belongs to another one', { issuer: { ...authority, key: leaf.key } }],
])('what makes no certificate is refused: %s', ([message, options]) => {
  expect(() => createCertificate({ ...served, ...options })).toThrow(message);
});
