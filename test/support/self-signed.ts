/** Certificates for servers of tests. */
import { randomBytes, webcrypto } from 'node:crypto';
import 'reflect-metadata'; // @peculiar/x509 asks for it
import * as x509 from '@peculiar/x509';

export interface Pair {
  readonly certificate: string;
  readonly key: string;
}

/** A certificate for 127.0.0.1 that is its own authority. */
export async function selfSigned(): Promise<Pair> {
  x509.cryptoProvider.set(webcrypto);
  const id = randomBytes(8).toString('hex');
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: `01${id}`,
    name: `CN=test-${id}`, // of two that vouch for themselves under one name, OpenSSL finds the first only
    notBefore: new Date(Date.now() - 3_600_000),
    notAfter: new Date(Date.now() + 86_400_000),
    keys,
    signingAlgorithm: algorithm,
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }])],
  });
  const der = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  const key = `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`;
  return { certificate: certificate.toString('pem'), key };
}
