/** The certificate of the webhooks with all that belongs to it, as it is made, judged, and kept in a Secret. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { type CertifiedKey, createCertificate } from '../../runtime/certificates/certificate.ts';

export interface Keyring {
  /** What the webhooks are served with. */
  readonly serving: CertifiedKey;
  /** What will follow it, as soon as the API server trusts it. */
  readonly next?: CertifiedKey;
  /** Whoever calls has to trust all of these: that of the certificate, that of the next, and those before as long as they are valid. */
  readonly authorities: readonly string[];
}

export interface Identity {
  readonly dnsNames: readonly string[];
  readonly ipAddresses?: readonly string[];
}

export interface Order {
  readonly identity: Identity;
  readonly lifetimeMs: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

const SUBJECT = 'memcached-operator-webhooks';
/** For clocks that differ: so much earlier it is valid. */
const EARLIER_MS = 3_600_000;

/** An authority of its own vouches for each certificate. Its key is used once and then forgotten, so that nobody can take it. */
function issue({ identity, lifetimeMs, now }: Order): { pair: CertifiedKey; authority: string } {
  const notBefore = new Date(now - Math.min(EARLIER_MS, lifetimeMs / 10));
  const validity = { notBefore, notAfter: new Date(now + lifetimeMs) };
  const subject = `${SUBJECT} ${validity.notAfter.toISOString()}`;
  const authority = createCertificate({ subject, ...validity, isAuthority: true });
  const pair = createCertificate({ subject: SUBJECT, ...identity, ...validity, issuer: authority });
  return { pair, authority: authority.certificate };
}

export function newKeyring(order: Order): Keyring {
  const { pair, authority } = issue(order);
  return { serving: pair, authorities: [authority] };
}

/** With a successor, which is not served yet. */
export function prepared({ serving, authorities }: Keyring, order: Order): Keyring {
  const { pair, authority } = issue(order);
  const present = authorities.filter((pem) => isValid(new X509Certificate(pem), order.now));
  return { serving, next: pair, authorities: [...present, authority] };
}

/** With the successor in its place. The authority before stays: not everybody changes at the same moment. */
export function promoted({ serving, next, authorities }: Keyring): Keyring {
  return { serving: next ?? serving, authorities };
}

/** What the API server has to trust. */
export function bundleOf({ authorities }: Keyring): string {
  return authorities.map((pem) => pem.trim().concat('\n')).join('');
}

/** As the data of a Secret of type kubernetes.io/tls; null takes a key away. */
export function dataOf(keyring: Keyring): Record<string, string | null> {
  const { serving, next } = keyring;
  return {
    'tls.crt': base64(serving.certificate),
    'tls.key': base64(serving.key),
    'ca.crt': base64(bundleOf(keyring)),
    'next.crt': next ? base64(next.certificate) : null,
    'next.key': next ? base64(next.key) : null,
  };
}

/** What a Secret holds, if it can be used now and for this identity; nothing otherwise, whatever is wrong with it. */
export function keyringFrom(data: SecretData, { identity, now }: Pick<Order, 'identity' | 'now'>): Keyring | undefined {
  const authorities = text(data['ca.crt']).match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const [serving, next] = ['tls', 'next'].map((name) => {
    const pair = { certificate: text(data[`${name}.crt`]), key: text(data[`${name}.key`]) };
    return isSound(pair, { authorities, identity, now }) ? pair : undefined;
  });
  return serving && { serving, ...(next && { next }), authorities };
}

/** What can be saved of a Secret that cannot be used: the successor, in its place. */
export function successorFrom(data: SecretData, order: Pick<Order, 'identity' | 'now'>): Keyring | undefined {
  return keyringFrom(
    { ...data, 'tls.crt': data['next.crt'], 'tls.key': data['next.key'], 'next.crt': undefined },
    order,
  );
}

type SecretData = Readonly<Record<string, string | undefined>>;

export function isSound(
  pair: CertifiedKey,
  { authorities, identity, now }: Pick<Order, 'identity' | 'now'> & Pick<Keyring, 'authorities'>,
): boolean {
  try {
    const certificate = new X509Certificate(pair.certificate);
    return (
      certificate.checkPrivateKey(createPrivateKey(pair.key)) &&
      isValid(certificate, now) &&
      identity.dnsNames.every((name) => certificate.checkHost(name, { subject: 'never' }) !== undefined) &&
      authorities.every((pem) => new X509Certificate(pem).ca) &&
      authorities.some((pem) => isIssuedBy(pair, pem) && isValid(new X509Certificate(pem), now))
    );
  } catch {
    return false; // not a certificate, not a key
  }
}

function isIssuedBy(pair: CertifiedKey, authority: string): boolean {
  const [certificate, issuer] = [new X509Certificate(pair.certificate), new X509Certificate(authority)];
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function isValid({ validFromDate, validToDate }: X509Certificate, now: number): boolean {
  return validFromDate.getTime() <= now && now < validToDate.getTime();
}

/** From when to when it is valid. */
export function validityOf({ certificate }: CertifiedKey): { readonly from: number; readonly until: number } {
  const { validFromDate, validToDate } = new X509Certificate(certificate);
  return { from: validFromDate.getTime(), until: validToDate.getTime() };
}

function base64(value: string): string {
  return Buffer.from(value).toString('base64');
}

function text(value = ''): string {
  return Buffer.from(value, 'base64').toString();
}
