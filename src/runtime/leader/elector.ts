/** Makes one of several operators the leader: never are there two who write, and when one goes, the next follows soon. */

import { type Clock, systemClock } from '../clock.ts';
import type { Log, LogFields } from '../log.ts';
import { Rest } from '../rest.ts';
import { LeaseLock, type LeaseLockOptions } from './lease-lock.ts';

/** A leader who began his last renewal so long ago writes no more; the others leave him 15 s, and that from when they saw it. */
export const RENEW_DEADLINE_MS = 10_000;
/** From one renewal to the next, at most. */
const RENEW_MS = 2000;
/** From one look to the next of one who waits, at most: so long may a Lease that was given back lie there. */
const LOOK_MS = 1000;
/** By how much a try may come early, so that not all come at once. */
const JITTER = 0.25;
/** For one try. When it fails, a leader has the time for another. */
const TRY_MS = 4000;

/** For the client that renews: a connection that died has to be noticed, and replaced, while there is still time to renew. */
export const RENEWAL_LIMITS = { connectTimeoutMs: 3000, pingIntervalMs: 2000, pingTimeoutMs: 4000 } as const;

export interface ElectorOptions extends Omit<LeaseLockOptions, 'clock' | 'now'> {
  readonly log: Log;
  /** Called once when it led and may no longer. The process has to end: another one leads now, or soon. */
  readonly onLost: () => void;
  /** It has to go on while the process is stopped. While the whole machine sleeps, the system's does not. */
  readonly clock?: Clock;
  readonly now?: () => Date;
  readonly random?: () => number;
}

export class LeaderElector {
  readonly #options: ElectorOptions;
  readonly #clock: Clock;
  readonly #lock: LeaseLock;
  readonly #ended = new AbortController();
  /** When the last renewal that succeeded was begun. Nothing: it does not lead. */
  #renewedAt: number | undefined;
  #renewing: Promise<void> = Promise.resolve();
  #cancelDeadline = () => {};
  /** Behind whom it stands, and what keeps it from the Lease: told when it changes. */
  #leader = '';
  #trouble = '';

  constructor(options: ElectorOptions) {
    const { clock = systemClock, now = () => new Date() } = options;
    this.#options = options;
    this.#clock = clock;
    this.#lock = new LeaseLock({ ...options, clock, now });
  }

  /**
   * Whether it leads at this very moment. To be asked right before a write is sent: a process that was stopped
   * goes on in the midst of what it did, and all that tells it how long it was away is the clock.
   */
  get isLeading(): boolean {
    return this.#renewedAt !== undefined && this.#clock.now() - this.#renewedAt < RENEW_DEADLINE_MS;
  }

  /** Resolves when it leads, or when the signal was given. From then on it leads until it is released, or has lost. */
  async lead(signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    while (!signal.aborted) {
      const begun = this.#clock.now();
      await this.#try((limit) => this.#takeOrKeep(limit)); // not broken off: then nobody would know who has the Lease
      if (this.#renewedAt !== undefined) {
        log.info('leading', this.#fields());
        this.#renewing = this.#keepRenewing();
        return;
      }
      await this.#restSince(begun, LOOK_MS, signal, this.#lock.freeInMs);
    }
  }

  /** Lets the next one lead at once. Whoever calls this has finished his writes; from now on it leads no more. */
  async release(): Promise<void> {
    const hasLed = this.#renewedAt !== undefined;
    this.#end();
    await this.#renewing;
    if (hasLed) await this.#try((limit) => this.#lock.release(limit));
  }

  async #keepRenewing(): Promise<void> {
    let begun = this.#clock.now();
    for (;;) {
      await this.#restSince(begun, RENEW_MS, this.#ended.signal);
      // After a stop of the process this may come before the timer of the deadline, and must not go on as if nothing were.
      if (!this.isLeading) return;
      begun = this.#clock.now();
      await this.#try((limit) => this.#takeOrKeep(limit));
    }
  }

  async #takeOrKeep(limit: AbortSignal): Promise<void> {
    const wasLeading = this.isLeading;
    if (wasLeading && (await this.#take(limit))) return;
    await this.#lock.look(limit);
    if (this.#ended.signal.aborted) return;
    const { isOurs, freeInMs, holder } = this.#lock;
    if (wasLeading && !isOurs) this.#lose({ leader: holder });
    else if (isOurs || freeInMs === 0)
      await this.#take(limit); // ours already: it was only the answer that got lost
    else this.#standBy(holder);
  }

  async #take(limit: AbortSignal): Promise<boolean> {
    const begun = this.#clock.now(); // the Lease is younger than this, and so is what others know of it
    const isTaken = await this.#lock.take(limit);
    if (isTaken && !this.#ended.signal.aborted) {
      this.#renewedAt = begun;
      this.#cancelDeadline();
      const leftMs = begun + RENEW_DEADLINE_MS - this.#clock.now();
      this.#cancelDeadline = this.#clock.after(leftMs, () => this.#lose({ notRenewedForMs: RENEW_DEADLINE_MS }));
    }
    return isTaken;
  }

  /** Never rejects: what failed is told, and tried again. */
  async #try(what: (limit: AbortSignal) => Promise<void>): Promise<void> {
    const limit = new AbortController();
    const cancel = this.#clock.after(TRY_MS, () => limit.abort(new Error(`no answer in ${TRY_MS / 1000} s`)));
    try {
      await what(limit.signal);
      this.#trouble = '';
    } catch (error) {
      if (String(error) !== this.#trouble) this.#options.log.error('lease out of reach', { ...this.#fields(), error });
      this.#trouble = String(error);
    } finally {
      cancel();
    }
  }

  /** Until the next try is due, or until the Lease is free, if that can be foreseen. */
  async #restSince(begun: number, wholeMs: number, signal: AbortSignal, freeInMs = 0): Promise<void> {
    const { random = Math.random } = this.#options;
    const ms = Math.max(0, begun + wholeMs * (1 - JITTER * random()) - this.#clock.now());
    await new Rest(this.#clock).take(freeInMs > 0 ? Math.min(ms, Math.ceil(freeInMs)) : ms, signal);
  }

  #standBy(leader: string): void {
    if (leader !== this.#leader) this.#options.log.info('standing by', { ...this.#fields(), leader });
    this.#leader = leader;
  }

  #lose(why: LogFields): void {
    if (this.#ended.signal.aborted) return;
    this.#end();
    this.#options.log.error('leadership lost', { ...this.#fields(), ...why });
    this.#options.onLost();
  }

  #end(): void {
    this.#renewedAt = undefined;
    this.#cancelDeadline();
    this.#ended.abort();
  }

  #fields(): LogFields {
    const { namespace, name, identity } = this.#options;
    return { lease: `${namespace}/${name}`, identity };
  }
}
