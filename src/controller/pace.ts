/** How often something is said of the same thing: who has just spoken, waits. */
import { type Clock, systemClock } from '../runtime/clock.ts';

export class Pace {
  readonly #everyMs: number;
  readonly #clock: Pick<Clock, 'now'>;
  /** Who has spoken last, latest at the end; those who may speak again are forgotten. */
  readonly #last = new Map<string, number>();

  constructor(everyMs: number, clock: Pick<Clock, 'now'> = systemClock) {
    this.#everyMs = everyMs;
    this.#clock = clock;
  }

  /** How long to wait, in milliseconds. */
  waitMs(key: string): number {
    const last = this.#last.get(key);
    return last === undefined ? 0 : Math.max(0, last + this.#everyMs - this.#clock.now());
  }

  spoken(key: string): void {
    const now = this.#clock.now();
    this.#last.delete(key);
    this.#last.set(key, now);
    for (const [other, time] of this.#last) {
      if (now - time < this.#everyMs) break;
      this.#last.delete(other);
    }
  }
}
