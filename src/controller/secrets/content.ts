/** The content of a Secret, as its examiners see it. What they keep of it is never a part of it. */
import { createHash } from 'node:crypto';
import type { KubernetesObject } from '../../kubernetes/object.ts';

export interface Secret extends KubernetesObject {
  /** By key, in base64. */
  readonly data?: Readonly<Record<string, string>>;
}

/** The bytes under a key; nothing where there is no such key, or nothing under it. */
export function bytesOf({ data = {} }: Secret, key: string): Buffer | undefined {
  const bytes = Buffer.from(data[key] ?? '', 'base64');
  return bytes.length === 0 ? undefined : bytes;
}

/** Changes exactly when something under one of the keys does. */
export function hashOf(secret: Secret, keys: readonly string[]): string {
  const hash = createHash('sha256');
  for (const key of keys) {
    const bytes = bytesOf(secret, key);
    hash.update(`${key} ${bytes?.length ?? 'none'}\n`);
    if (bytes) hash.update(bytes);
  }
  return hash.digest('hex').slice(0, 32);
}
