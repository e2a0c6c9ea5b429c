/** Holds back what makes much work for others: few at once, and after each a rest, the longer the slower the answers are. */
import type { Clock } from '../clock.ts';

const AT_ONCE = 4;
/** So many times as long as the work took: where the server has less to spare, less is asked of it. */
const REST = 15;
/** Who is answered slowly for a reason of his own does not let everybody else rest for longer. */
const LONGEST_REST_MS = 1000;

export class Restraint {
  readonly #onRested: () => void;
  readonly #clock: Clock;
  /** Those that are at work or rest after it. */
  #busy = 0;
  readonly #rests = new Set<() => void>();

  /** Calls back whenever there is room again. */
  constructor(onRested: () => void, clock: Clock) {
    this.#onRested = onRested;
    this.#clock = clock;
  }

  get hasRoom(): boolean {
    return this.#busy < AT_ONCE;
  }

  begin(): void {
    this.#busy += 1;
  }

  end(tookMs: number): void {
    const cancel = this.#clock.after(Math.min(REST * tookMs, LONGEST_REST_MS), () => {
      this.#rests.delete(cancel);
      this.#busy -= 1;
      this.#onRested();
    });
    this.#rests.add(cancel);
  }

  /** Leaves no timer. Nobody is called back any more. */
  stop(): void {
    for (const cancel of this.#rests) cancel();
    this.#rests.clear();
  }
}
