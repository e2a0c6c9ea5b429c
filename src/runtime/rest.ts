/** A time of waiting that others can end. */
import type { Clock } from './clock.ts';

export class Rest {
  readonly #clock: Clock;
  #isWoken = false;
  #end = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Ends the rest, or the next one if there is none now. */
  wake(): void {
    this.#isWoken = true;
    this.#end();
  }

  /** What woke us before is being seen to. */
  clear(): void {
    this.#isWoken = false;
  }

  /** Until the time is over, the signal is given, or someone wakes us. */
  async take(ms: number, signal: AbortSignal): Promise<'rested' | 'woken'> {
    if (!this.#isWoken && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const end = () => resolve();
      this.#end = end;
      const cancel = this.#clock.after(ms, end);
      signal.addEventListener('abort', end, { once: true });
      await promise;
      cancel();
      signal.removeEventListener('abort', end); // the signal lives as long as the process
    }
    return this.#isWoken ? 'woken' : 'rested';
  }
}
