/** What is to be known about a Secret that a Memcached names: what follows from its content, and nothing of the content itself. */
import { type CertificateFacts, examineCertificate } from './certificate.ts';
import type { Secret } from './content.ts';
import { examinePasswords, type PasswordFacts } from './passwords.ts';

export interface SecretFacts {
  readonly certificate: CertificateFacts;
  readonly passwords: PasswordFacts;
}

export function factsOf(secret: Secret): SecretFacts {
  return { certificate: examineCertificate(secret), passwords: examinePasswords(secret) };
}
