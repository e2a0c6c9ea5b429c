/** Gives memory back after work: V8 keeps what a burst has needed, and returns little of it by itself while nothing happens. */
import { type Clock, systemClock } from './clock.ts';

/** Work that comes in drops is one burst. */
const QUIET_MS = 3000;
/** To collect everything takes some 50 ms with 500 Memcacheds, in which nothing else goes on. */
const PAUSE_MS = 60_000;

export class Tidying {
  readonly #collect: () => void;
  readonly #clock: Clock;
  #busyAt = 0;
  #tidiedAt = Number.NEGATIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(collect: () => void, clock: Clock = systemClock) {
    this.#collect = collect;
    this.#clock = clock;
  }

  /** There is work. When there has been none for a moment, what it has left behind is collected. */
  soon(): void {
    this.#busyAt = this.#clock.now();
    if (!this.#cancel) this.#wait();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #wait(): void {
    const due = Math.max(this.#busyAt + QUIET_MS, this.#tidiedAt + PAUSE_MS);
    this.#cancel = this.#clock.after(Math.max(0, due - this.#clock.now()), () => {
      if (this.#clock.now() < this.#busyAt + QUIET_MS) return this.#wait();
      this.#cancel = undefined;
      this.#tidiedAt = this.#clock.now();
      this.#collect();
    });
  }
}
