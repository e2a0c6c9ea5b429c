/** What to do about the certificate of the webhooks, decided by what is known of it. */
import type { CertifiedKey } from '../../runtime/certificates/certificate.ts';
import { type Keyring, validityOf } from './keyring.ts';

export interface Situation {
  /** What the Secret holds, if that is good. */
  readonly kept: Keyring | undefined;
  /** What it held when it was last good, if that is still good. */
  readonly remembered: Keyring | undefined;
  /** What can be saved of the Secret when it is not good. */
  readonly successor: Keyring | undefined;
  /** Whether there are webhook configurations that need a certificate. */
  readonly isNeeded: boolean;
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
  /** A third of its time is over: make the next one, so that it is trusted long before it is served. */
  | { readonly act: 'prepare'; readonly keyring: Keyring }
  /** Two thirds of its time are over: serve the next one. */
  | { readonly act: 'promote'; readonly keyring: Keyring }
  | { readonly act: 'wait'; readonly ms: number };

/** API servers learn of a changed configuration one by one, a moment later: so long at least it is trusted before it is served. */
const SETTLING_MS = 30_000;

export function nextStep({ kept, remembered, successor, isNeeded, trustedForMs, lifetimeMs, now }: Situation): Step {
  if (!kept) {
    // With the configurations the Secret goes, too: who puts it back then would leave it behind.
    if (remembered)
      return isNeeded ? { act: 'restore', keyring: remembered } : { act: 'wait', ms: Number.POSITIVE_INFINITY };
    return successor ? { act: 'promote', keyring: successor } : { act: 'issue' };
  }
  const { from, until } = validityOf(kept.serving);
  const isTooLong = until - now > 2 * lifetimeMs; // shorter ones are wanted by now
  const at = (thirds: number) => (isTooLong ? now : from + ((until - from) * thirds) / 3);
  if (!kept.next) return waitUntil(at(1), now) ?? { act: 'prepare', keyring: kept };
  if (trustedForMs === undefined) return { act: 'wait', ms: until - now }; // until it is said to be trusted
  const settled = now - trustedForMs + Math.min(SETTLING_MS, lifeOf(kept.next) / 20, lifeOf(kept.serving) / 20);
  return waitUntil(Math.min(until, Math.max(at(2), settled)), now) ?? { act: 'promote', keyring: kept };
}

function waitUntil(time: number, now: number): Step | undefined {
  return time > now ? { act: 'wait', ms: time - now } : undefined;
}

function lifeOf(pair: CertifiedKey): number {
  const { from, until } = validityOf(pair);
  return until - from;
}
