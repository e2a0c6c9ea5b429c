/** Makes certificates of one kind: ECDSA on P-256, for authorities of our own and for the servers that they vouch for. */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import { isIP } from 'node:net';
import { bits, field, integer, octets, oid, plainField, sequence, set, text, time, yes } from './der.ts';

/** A certificate and its private key, both as PEM. */
export interface CertifiedKey {
  readonly certificate: string;
  readonly key: string;
}

export interface CertificateOptions {
  /** Its common name: at most 64 plain characters. */
  readonly subject: string;
  /** The names and addresses that a server is reached by. */
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** It signs certificates, and does nothing else. */
  readonly isAuthority?: boolean;
  /** The authority that signs it, made here too. Without one it is signed by itself. */
  readonly issuer?: CertifiedKey;
}

const ECDSA_WITH_SHA256 = sequence(oid('1.2.840.10045.4.3.2'));
const COMMON_NAME = oid('2.5.4.3');
const SERVER_AUTHENTICATION = oid('1.3.6.1.5.5.7.3.1');
const VERSION_3 = integer(Buffer.from([2]));

/** Makes a new key, and a certificate for it. */
export function createCertificate(options: CertificateOptions): CertifiedKey {
  const { subject, notBefore, notAfter, issuer } = options;
  if (!(notBefore < notAfter)) throw new TypeError('a certificate has to be valid for some time');
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signer = issuer ? signerOf(issuer) : { name: subject, key: privateKey, publicKey };
  const contents = sequence(
    field(0, VERSION_3),
    integer(randomBytes(16)),
    ECDSA_WITH_SHA256,
    nameOf(signer.name),
    sequence(time(notBefore), time(notAfter)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    field(3, sequence(...extensions(options, publicKey, signer.publicKey))),
  );
  const certificate = sequence(contents, ECDSA_WITH_SHA256, bits(sign('sha256', contents, signer.key)));
  return {
    certificate: new X509Certificate(certificate).toString(),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}

interface Signer {
  readonly name: string;
  readonly key: KeyObject;
  readonly publicKey: KeyObject;
}

function signerOf({ certificate, key }: CertifiedKey): Signer {
  const parsed = new X509Certificate(certificate);
  const privateKey = createPrivateKey(key);
  if (!parsed.ca || !parsed.checkPrivateKey(privateKey))
    throw new TypeError('the issuer is not an authority, or its key belongs to another one');
  return { name: parsed.subject.replace(/^CN=/, ''), key: privateKey, publicKey: createPublicKey(privateKey) };
}

/** Only characters that read the same in every notation of names, because an issuer is known by its name. */
function nameOf(commonName: string): Buffer {
  if (!/^[\w.:@/-]([\w.:@/ -]{0,62}[\w.:@/-])?$/.test(commonName))
    throw new TypeError(`"${commonName}" cannot be the name of a certificate`);
  return sequence(set(sequence(COMMON_NAME, text(commonName))));
}

function extensions(options: CertificateOptions, publicKey: KeyObject, issuerKey: KeyObject): Buffer[] {
  const names = alternatives(options);
  return [
    critical('2.5.29.19', options.isAuthority ? sequence(yes()) : sequence()), // basic constraints: may it sign others?
    critical('2.5.29.15', options.isAuthority ? bits(Buffer.from([0b0000_0110]), 1) : bits(Buffer.from([0x80]), 7)), // key usage
    ...(options.isAuthority ? [] : [extension('2.5.29.37', sequence(SERVER_AUTHENTICATION))]),
    extension('2.5.29.14', octets(keyId(publicKey))),
    extension('2.5.29.35', sequence(plainField(0, keyId(issuerKey)))), // the key id of the issuer
    ...(names.length > 0 ? [extension('2.5.29.17', sequence(...names))] : []),
  ];
}

const extension = (id: string, value: Buffer) => sequence(oid(id), octets(value));
const critical = (id: string, value: Buffer) => sequence(oid(id), yes(), octets(value));

/** By which keys are told apart: any 20 bytes do that always come out the same. */
function keyId(publicKey: KeyObject): Buffer {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest()
    .subarray(0, 20);
}

function alternatives({ dnsNames = [], ipAddresses = [] }: CertificateOptions): Buffer[] {
  for (const name of dnsNames)
    if (!/^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/i.test(name)) throw new TypeError(`"${name}" is not a DNS name`);
  return [
    ...dnsNames.map((name) => plainField(2, Buffer.from(name, 'ascii'))),
    ...ipAddresses.map((address) => plainField(7, addressBytes(address))),
  ];
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  if (isIP(address) !== 6 || address.includes('%')) throw new TypeError(`"${address}" is not an IP address`);
  const normal = new URL(`http://[${address}]`).hostname.slice(1, -1); // a dotted end, if there is one, is gone
  const [head = [], tail = []] = normal.split('::').map((half) => half.split(':').filter(Boolean));
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail];
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
