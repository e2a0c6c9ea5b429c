/** What to do about the certificate of the webhooks, decided by what is known of it. */
import type { CertifiedKey } from '../../runtime/certificates/certificate.ts';
import { type Keyring, validityOf } from './keyring.ts';

export interface Situation {
  /** What the Secret holds, if that is good. */
  readonly kept: Keyring | undefined;
  /** What it held when it was last good, if that is still good. */
  readonly remembered: Keyring | undefined;
  /** For how long every webhook configuration has been trusting what the Secret holds; nothing: not all of them do. */
  readonly trustedForMs: number | undefined;
  /** Of certificates that are made now. */
  readonly lifetimeMs: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

export type Step =
  /** There is none: make one. */
  | { readonly act: 'issue' }
  /** The Secret was deleted or damaged: put back what was in it. */
  | { readonly act: 'restore'; readonly keyring: Keyring }
  /** It gets old: make the next one, so that it can be trusted before it is served. */
  | { readonly act: 'prepare'; readonly keyring: Keyring }
  /** The next one is trusted: serve it. */
  | { readonly act: 'promote'; readonly keyring: Keyring }
  | { readonly act: 'wait'; readonly ms: number };

/** API servers learn of a changed configuration one by one, a moment later. */
const SETTLING_MS = 30_000;

export function nextStep({ kept, remembered, trustedForMs, lifetimeMs, now }: Situation): Step {
  if (!kept) return remembered ? { act: 'restore', keyring: remembered } : { act: 'issue' };
  const { from, until } = validityOf(kept.serving);
  if (!kept.next) {
    const isTooLong = until - now > 2 * lifetimeMs; // shorter ones are wanted by now
    const renewal = isTooLong ? now : from + ((until - from) * 2) / 3;
    return now >= renewal ? { act: 'prepare', keyring: kept } : { act: 'wait', ms: renewal - now };
  }
  if (trustedForMs === undefined) return { act: 'wait', ms: until - now }; // until it is said to be trusted
  const left = Math.min(SETTLING_MS, lifeOf(kept.next) / 20) - trustedForMs;
  return left > 0 ? { act: 'wait', ms: left } : { act: 'promote', keyring: kept };
}

function lifeOf(pair: CertifiedKey): number {
  const { from, until } = validityOf(pair);
  return until - from;
}
