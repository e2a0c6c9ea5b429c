/**
 * How a watch recovers: where it is, what can happen there, and where that leads. ARCHITECTURE.md has a drawing of it,
 * and a test holds the two against each other.
 */
import { ApiError, longestWaitMs } from '../client/index.ts';

/** Where it speaks with the server: a list that comes through the watch, a list in pages, and the watch after either. */
export type Place = 'stream' | 'pages' | 'watch';

export type Outcome =
  | 'listed' // the contents are complete
  | 'ended' // the server has ended the stream in order
  | 'expired' // the server cannot tell any more what has happened since
  | 'refused' // the server does not take such a request
  | 'missing' // the server does not know the kind
  | 'failed' // anything else
  | 'rested' // the waiting is over
  | 'woken'; // someone knows that it is worth a try

export interface Happening {
  readonly outcome: Outcome;
  /** The watch had been well for a while. */
  readonly healthy?: boolean;
  /** What the server wants us to wait, whatever we think. */
  readonly atLeastMs?: number;
  /** What we want to wait at most, however often it has happened. */
  readonly atMostMs?: number;
  readonly error?: unknown;
}

/** `troubles` makes waits longer. `isHurried` after a step that should have waited, had it not been the first. */
export type WatchState =
  | { readonly at: Place; readonly troubles: number; readonly isHurried: boolean }
  | { readonly at: 'waiting' | 'absent'; readonly next: Place; readonly ms: number; readonly troubles: number };

export const START = { at: 'stream', troubles: 0, isHurried: false } as const satisfies WatchState;

/** What passes by itself is over at any moment. */
const SHORT_WAIT_MS = 5_000;
/** A refusal, or a kind that is not installed, is as it is until somebody does something about it. */
const LONG_WAIT_MS = 30_000;

/** When a step is taken. "once" is now, but a second time only after a wait: it answers what servers do in the best of health. */
type When = 'now' | 'once' | 'later';
type Step = readonly [to: Place | 'absent', when: When];

/** What is not listed, goes as `failed`. */
export const steps: Readonly<Record<Place, { readonly failed: Step } & Readonly<Partial<Record<Outcome, Step>>>>> = {
  stream: {
    listed: ['watch', 'now'],
    refused: ['pages', 'now'],
    ended: ['pages', 'later'], // before the list was complete: it may not know such lists
    missing: ['absent', 'later'],
    failed: ['stream', 'later'],
  },
  pages: {
    listed: ['watch', 'now'],
    expired: ['stream', 'later'],
    missing: ['absent', 'later'],
    failed: ['pages', 'later'],
  },
  watch: {
    ended: ['watch', 'once'],
    expired: ['stream', 'once'],
    refused: ['stream', 'once'],
    missing: ['stream', 'later'], // asked once more before it is believed, for then all objects are gone
    failed: ['watch', 'later'],
  },
};

/** How long the wait is after so many troubles, which is never longer than that. */
export type BackoffMs = (troubles: number, atMostMs: number) => number;

/** The state after something has happened. */
export function follow(state: WatchState, happening: Happening, backoffMs: BackoffMs): WatchState {
  const { outcome, healthy = false, atLeastMs = 0, atMostMs = SHORT_WAIT_MS } = happening;
  if ('next' in state) {
    return { at: state.next, troubles: outcome === 'woken' ? 0 : state.troubles, isHurried: false };
  }
  const [to, when] = steps[state.at][outcome] ?? steps[state.at].failed;
  const { troubles, isHurried } = healthy ? START : state;
  const isAtOnce = when === 'now' || (when === 'once' && !isHurried && atLeastMs === 0);
  if (to !== 'absent' && isAtOnce) return { at: to, troubles, isHurried: isHurried || when === 'once' };
  const wait = { ms: Math.max(backoffMs(troubles, atMostMs), atLeastMs), troubles: troubles + 1 };
  return to === 'absent' ? { at: 'absent', next: 'stream', ...wait } : { at: 'waiting', next: to, ...wait };
}

/** The server has said in the middle of a watch that it cannot go on. Why, is its cause. */
export class WatchBroken extends Error {
  override readonly name = 'WatchBroken';
  override readonly cause: ApiError;

  constructor(cause: ApiError) {
    super(`the watch broke off: ${cause.message}`);
    this.cause = cause;
  }
}

/** Should the server ask for more, or a date be meant by another clock than ours, then we come back all the same. */
const LONGEST_PATIENCE_S = 30;

/** What an error means. */
export function happeningOf(error: unknown): Happening {
  // Whatever the reason, it would come again at the same point: a new list leads around it.
  if (error instanceof WatchBroken)
    return { ...happeningOf(error.cause), outcome: 'expired', atMostMs: SHORT_WAIT_MS, error };
  const atMostMs = longestWaitMs(error) ?? LONG_WAIT_MS;
  if (!(error instanceof ApiError)) return { outcome: 'failed', atMostMs, error };
  const atLeastMs = Math.min(error.retryAfterSeconds ?? 0, LONGEST_PATIENCE_S) * 1000;
  return { outcome: outcomeOf(error), atLeastMs, atMostMs, error };
}

function outcomeOf({ status, details }: ApiError): Outcome {
  if (status === 410) return 'expired';
  if (status === 404) return 'missing';
  if (status === 400 || status === 422) return 'refused';
  // The server is behind what we have seen and will stay so: it was restored from a backup.
  if (details?.causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge')) return 'expired';
  return 'failed';
}
