/** Secrets for Memcacheds, and all that they are made of, to look for where it must never be. */
import { randomBytes } from 'node:crypto';
import type { Secret } from '../../src/controller/secrets/content.ts';
import { secretKind } from '../../src/controller/secrets/secrets.ts';
import {
  type CertificateOptions,
  type CertifiedKey,
  createCertificate,
} from '../../src/runtime/certificates/certificate.ts';
import { isNotFound } from '../../src/runtime/client/index.ts';
import { type Asking, NAMESPACE } from './memcacheds.ts';

const HOUR = 3_600_000;

/** Valid from an hour ago on, for an hour more if nothing else is said. */
export function certificate(options: Partial<CertificateOptions> = {}): CertifiedKey {
  const now = Date.now();
  const times = { notBefore: new Date(now - HOUR), notAfter: new Date(now + HOUR) };
  return createCertificate({ subject: `canary-${random()}`, ...times, ...options });
}

/** A word that nobody else would ever write. */
export function random(): string {
  return randomBytes(9).toString('hex');
}

/** Every text that was ever put into a Secret, in pieces that would be recognised anywhere. */
const pieces = new Set<string>();

export function secretPieces(): readonly string[] {
  return [...pieces];
}

/** Makes the Secret be this, whatever it was. */
export async function putSecret(at: Asking, name: string, texts: Readonly<Record<string, string>>): Promise<Secret> {
  for (const text of Object.values(texts)) for (const piece of piecesOf(text)) pieces.add(piece);
  const entries = Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')] as const);
  const object: Secret = {
    apiVersion: secretKind.apiVersion,
    kind: secretKind.kind,
    metadata: { name, namespace: NAMESPACE },
    data: Object.fromEntries(entries),
  };
  try {
    const { metadata } = await at.client.get<Secret>(secretKind, name, NAMESPACE);
    const body = [
      { op: 'test', path: '/metadata/uid', value: metadata.uid },
      { op: 'add', path: '/data', value: object.data },
    ];
    return await at.client.patch<Secret>(secretKind, name, NAMESPACE, { type: 'json', body });
  } catch (error) {
    if (isNotFound(error)) return at.client.create(secretKind, object);
    throw error;
  }
}

/** Lines, and what stands between signs in them; short words would be found by chance. The same in base64. */
function piecesOf(text: string): string[] {
  const words = text.split(/[\n:@\s]+/).filter((word) => word.length >= 12 && !word.includes('-----'));
  return [...words, Buffer.from(text).toString('base64').slice(0, 40)];
}
