/** Gives memory back after work: V8 keeps what a burst has needed, and returns little of it by itself while nothing happens. */
import { type Clock, systemClock } from './clock.ts';

/** Work that comes in drops is one burst. */
const QUIET_MS = 3000;
/**
 * To collect everything takes a tenth of a second with 500 Memcacheds and two with 5,000, in which nothing else goes
 * on: so seldom, the more seldom the longer all steps take, and in the midst of work only where that does not end for so long.
 */
const PAUSE_MS = 60_000;
const PAUSE_TIMES_AS_LONG = 500;
/** It may have taken long for a reason that is none of ours: a process that was halted, a share of a core that was used up. */
const LONGEST_PAUSE_MS = 30 * 60_000;

/** What one step has freed is given back to the system before the next one begins, which may need memory of its own. */
const BETWEEN_STEPS_MS = 2000;

export class Tidying {
  readonly #steps: readonly (() => void)[];
  readonly #clock: Clock;
  /** How many steps have been taken since it was tidy, and how long they took. */
  #taken = 0;
  #tookMs = 0;
  /** Since when there has been work, and when some came last. */
  #busySince = 0;
  #busyAt = 0;
  /** Before that no step is taken. */
  #earliest = Number.NEGATIVE_INFINITY;
  #pauseMs = PAUSE_MS;
  #cancel: (() => void) | undefined;

  constructor(steps: readonly (() => void)[], clock: Clock = systemClock) {
    this.#steps = steps;
    this.#clock = clock;
  }

  /** There is work. When there has been none for a moment, what it has left behind is collected. */
  soon(): void {
    const now = this.#clock.now();
    const isAfresh = !this.#cancel || now >= this.#busyAt + QUIET_MS;
    if (isAfresh) this.#busySince = now;
    this.#busyAt = now;
    if (!this.#cancel) this.#wait();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #wait(): void {
    const due = Math.max(this.#overAt(), this.#earliest);
    this.#cancel = this.#clock.after(Math.max(0, due - this.#clock.now()), () => {
      if (this.#clock.now() < this.#overAt()) return this.#wait();
      this.#cancel = undefined;
      this.#step();
    });
  }

  #step(): void {
    const begun = this.#clock.now();
    this.#steps[this.#taken]?.();
    const ended = this.#clock.now();
    this.#taken += 1;
    this.#tookMs += ended - begun;
    if (this.#taken < this.#steps.length) {
      this.#earliest = ended + BETWEEN_STEPS_MS;
      return this.#wait();
    }
    this.#pauseMs = Math.min(Math.max(PAUSE_MS, PAUSE_TIMES_AS_LONG * this.#tookMs), LONGEST_PAUSE_MS);
    this.#earliest = ended + this.#pauseMs;
    this.#taken = 0;
    this.#tookMs = 0;
  }

  /** When the burst is over, or has to be interrupted. */
  #overAt(): number {
    return Math.min(this.#busyAt + QUIET_MS, this.#busySince + this.#pauseMs);
  }
}
