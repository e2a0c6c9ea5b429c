/** Whether a Secret has what memcached needs for TLS. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { bytesOf, hashOf, type Secret } from './content.ts';

const CERTIFICATE = 'tls.crt';
const KEY = 'tls.key';
const AUTHORITY = 'ca.crt';

/** From when until when something is good, in milliseconds since 1970. */
export interface Validity {
  readonly from: number;
  readonly until: number;
}

/** What was found, whatever the time is and whoever asks. */
export interface CertificateFacts {
  readonly hash: string;
  readonly hasCa: boolean;
  /** What is wrong with it for everyone. */
  readonly flaw?: string;
  /** Of the server's certificate. */
  readonly validity?: Validity;
  /** Of each authority in ca.crt. Other certificates there are no authorities. */
  readonly authorities: readonly Validity[];
}

export interface CertificateDemand {
  /** Clients have to show certificates, so there must be an authority to check them with. */
  readonly needsCa: boolean;
  readonly now: Date;
}

export interface Verdict {
  /** What is wrong and what to do about it; nothing if all is well. */
  readonly flaw?: string;
  /** When the verdict may become another one by itself, in milliseconds since 1970. */
  readonly changesAt?: number;
}

export function examineCertificate(secret: Secret): CertificateFacts {
  const certificates = certificatesIn(secret, CERTIFICATE);
  const authorities = certificatesIn(secret, AUTHORITY);
  const hasCa = bytesOf(secret, AUTHORITY) !== undefined;
  const server = certificates?.[0]; // those behind it lead from it to its authority
  const flaw =
    pairFlaw(secret, certificates) ??
    (hasCa && !authorities?.length
      ? `${AUTHORITY} has no readable certificate (PEM): replace or remove it`
      : undefined);
  return {
    hash: hashOf(secret, [CERTIFICATE, KEY, AUTHORITY]),
    hasCa,
    ...(flaw !== undefined && { flaw }),
    ...(server && { validity: validityOf(server) }),
    authorities: (authorities ?? []).filter(({ ca }) => ca).map(validityOf),
  };
}

export function judgeCertificate(facts: CertificateFacts, { needsCa, now }: CertificateDemand): Verdict {
  const { flaw, validity, authorities } = facts;
  if (flaw !== undefined || !validity) return { flaw: flaw ?? `${CERTIFICATE} is missing` };
  if (needsCa && !facts.hasCa) {
    return { flaw: `${AUTHORITY} is missing: spec.security.tls.enableClientCert needs the authority of the clients` };
  }
  if (needsCa && authorities.length === 0) {
    return { flaw: `${AUTHORITY} has no certificate of an authority (CA:TRUE): it could not vouch for any client` };
  }
  const time = now.getTime();
  const server = timeliness(CERTIFICATE, [validity], time);
  if (!needsCa || server.flaw !== undefined) return server;
  const authority = timeliness(AUTHORITY, authorities, time);
  return authority.flaw === undefined ? earlier(server, authority) : authority;
}

function pairFlaw(secret: Secret, certificates: readonly X509Certificate[] | undefined): string | undefined {
  for (const name of [CERTIFICATE, KEY]) {
    if (!bytesOf(secret, name)) return `${name} is missing: the Secret needs ${CERTIFICATE} and ${KEY}`;
  }
  const [server] = certificates ?? [];
  if (!server) return `${CERTIFICATE} has no readable certificate (PEM): replace it`;
  const key = keyIn(secret);
  if (!key) return `${KEY} is no readable private key (PEM, without a passphrase): replace it`;
  if (!server.checkPrivateKey(key)) return `${KEY} is not the key of ${CERTIFICATE}: replace both by a pair`;
  return undefined;
}

/** All certificates under the key; nothing if one of them cannot be read. */
function certificatesIn(secret: Secret, name: string): X509Certificate[] | undefined {
  const text = bytesOf(secret, name)?.toString('latin1') ?? '';
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  const begun = text.split('-----BEGIN CERTIFICATE-----').length - 1;
  try {
    return blocks.length === begun ? blocks.map((block) => new X509Certificate(block)) : undefined;
  } catch {
    return undefined; // what the parser says might quote it
  }
}

function keyIn(secret: Secret): KeyObject | undefined {
  try {
    return createPrivateKey(bytesOf(secret, KEY) ?? '');
  } catch {
    return undefined;
  }
}

function validityOf({ validFromDate, validToDate }: X509Certificate): Validity {
  return { from: validFromDate.getTime(), until: validToDate.getTime() };
}

/** Whether one of them is good at that time, and when that changes. */
function timeliness(name: string, all: readonly Validity[], time: number): Verdict {
  const latest = all.reduce((best, one) => (one.until > best.until ? one : best));
  if (latest.until < time) return { flaw: `${name} expired on ${dateOf(latest.until)}: renew it` };
  const good = all.filter(({ from, until }) => from <= time && time <= until);
  if (good.length > 0) return { changesAt: Math.max(...good.map(({ until }) => until)) + 1 };
  const from = Math.min(...all.filter((one) => one.until >= time).map((one) => one.from));
  return { flaw: `${name} is not valid before ${dateOf(from)}`, changesAt: from };
}

function earlier(one: Verdict, other: Verdict): Verdict {
  return {
    changesAt: Math.min(one.changesAt ?? Number.POSITIVE_INFINITY, other.changesAt ?? Number.POSITIVE_INFINITY),
  };
}

function dateOf(time: number): string {
  return new Date(time).toISOString().replace('.000Z', 'Z');
}
