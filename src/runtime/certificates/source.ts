/** Where a server has its certificate from: files that somebody renews, or itself. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type CertificateOptions, type CertifiedKey, createCertificate } from './certificate.ts';

/** Asked again and again; gives the same as long as there is nothing new. */
export type CertificateSource = () => Promise<CertifiedKey>;

/** The message says which file, and what is wrong with it. */
export class UnusableCertificate extends Error {
  override readonly name = 'UnusableCertificate';
}

/** The files of a Secret of type kubernetes.io/tls, as it is mounted. */
export function certificateFiles(directory: string): CertificateSource {
  const read = async (name: string) => {
    const file = path.join(directory, name);
    const text = await readFile(file, 'utf8').catch((error: unknown) => {
      throw new UnusableCertificate(`${file} cannot be read`, { cause: error });
    });
    return { file, text };
  };
  return async () => {
    const certificate = await read('tls.crt');
    const key = await read('tls.key');
    const parsed = parse(certificate, (text) => new X509Certificate(text));
    const isPair = parsed.checkPrivateKey(parse(key, createPrivateKey));
    if (!isPair) throw new UnusableCertificate(`${certificate.file} is not a certificate of the key ${key.file}`);
    return { certificate: certificate.text, key: key.text };
  };
}

function parse<T>({ file, text }: { file: string; text: string }, parser: (text: string) => T): T {
  try {
    return parser(text);
  } catch (error) {
    throw new UnusableCertificate(`${file} is not in PEM form`, { cause: error });
  }
}

const DAY_MS = 86_400_000;
const VALID_DAYS = 365;
const RENEWED_AFTER_DAYS = 240;
/** For clocks that differ a little. */
const EARLIER_MS = 3_600_000;

/** A certificate that vouches for itself, made anew in good time. */
export function selfSigned(
  identity: Pick<CertificateOptions, 'subject' | 'dnsNames' | 'ipAddresses'>,
  now: () => Date,
): CertificateSource {
  let current: { readonly pair: CertifiedKey; readonly made: number } | undefined;
  return async () => {
    const time = now().getTime();
    const age = current && Math.abs(time - current.made); // a clock that was set back makes it invalid, too
    if (!current || (age ?? 0) > RENEWED_AFTER_DAYS * DAY_MS) {
      const validity = { notBefore: new Date(time - EARLIER_MS), notAfter: new Date(time + VALID_DAYS * DAY_MS) };
      current = { pair: createCertificate({ ...identity, ...validity }), made: time };
    }
    return current.pair;
  };
}
