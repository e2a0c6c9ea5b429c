/** A clock for tests: its time passes when it is told to. */
import type { Clock } from './clock.ts';

export class ManualClock implements Clock {
  readonly #timers = new Set<{ readonly at: number; readonly callback: () => void }>();
  #now = 0;

  /** How many timers are set. */
  get timers(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Lets time pass; timers run in their order, each at its own time. */
  advance(ms: number): void {
    const until = this.#now + ms;
    for (let next = this.#first(); next && next.at <= until; next = this.#first()) {
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
    }
    this.#now = until;
  }

  #first() {
    return [...this.#timers].toSorted((a, b) => a.at - b.at)[0];
  }
}
