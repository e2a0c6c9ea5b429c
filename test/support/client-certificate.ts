/** Certificates by which clients prove who they are. */
import { randomBytes, webcrypto } from 'node:crypto';
import 'reflect-metadata'; // @peculiar/x509 asks for it
import * as x509 from '@peculiar/x509';
import type { CertifiedKey } from '../../src/runtime/certificates/certificate.ts';

const KEYS = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** One that the authority vouches for. */
export async function clientCertificate(authority: CertifiedKey): Promise<CertifiedKey> {
  x509.cryptoProvider.set(webcrypto);
  const keys = await webcrypto.subtle.generateKey(KEYS, true, ['sign', 'verify']);
  const issuer = new x509.X509Certificate(authority.certificate);
  const der = x509.PemConverter.decodeFirst(authority.key);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: `01${randomBytes(8).toString('hex')}`,
    subject: 'CN=client',
    issuer: issuer.subject,
    notBefore: issuer.notBefore,
    notAfter: issuer.notAfter,
    signingKey: await webcrypto.subtle.importKey('pkcs8', der, KEYS, false, ['sign']),
    publicKey: keys.publicKey,
    signingAlgorithm: KEYS,
    extensions: [new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth])],
  });
  const key = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { certificate: certificate.toString('pem'), key: x509.PemConverter.encode(key, 'PRIVATE KEY') };
}
