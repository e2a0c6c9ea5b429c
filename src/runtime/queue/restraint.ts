/** Holds back what makes much work for others: few at once, and after each a rest, the longer the slower the answers are. */
import type { Clock } from '../clock.ts';

const AT_ONCE = 4;
/** While others keep asking for something new: they come first, but not for ever. */
const AT_ONCE_AMID_WISHES = 1;
/** So long after the last wish, nobody counts as asking. */
const WISHES_END_MS = 500;
/** So many times as long as the work took: where the server has less to spare, less is asked of it. */
const REST = 15;
/** Who is answered slowly for a reason of his own does not let everybody else rest for longer. */
const LONGEST_REST_MS = 1000;

export class Restraint {
  readonly #onRoom: () => void;
  readonly #clock: Clock;
  /** Those that are at work or rest after it. */
  #busy = 0;
  #wishedAt = Number.NEGATIVE_INFINITY;
  readonly #timers = new Set<() => void>();
  #awaitsEnd = false;

  /** Calls back whenever there is room again. */
  constructor(onRoom: () => void, clock: Clock) {
    this.#onRoom = onRoom;
    this.#clock = clock;
  }

  get hasRoom(): boolean {
    return this.#busy < (this.#wishesEndInMs > 0 ? AT_ONCE_AMID_WISHES : AT_ONCE);
  }

  begin(): void {
    this.#busy += 1;
  }

  end(tookMs: number): void {
    this.#after(Math.min(REST * tookMs, LONGEST_REST_MS), () => {
      this.#busy -= 1;
      this.#onRoom();
    });
  }

  /** Somebody wants something new. */
  wished(): void {
    this.#wishedAt = this.#clock.now();
    if (!this.#awaitsEnd) this.#awaitEnd();
  }

  /** Leaves no timer. Nobody is called back any more. */
  stop(): void {
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }

  get #wishesEndInMs(): number {
    return this.#wishedAt + WISHES_END_MS - this.#clock.now();
  }

  #awaitEnd(): void {
    this.#awaitsEnd = true;
    this.#after(this.#wishesEndInMs, () => {
      this.#awaitsEnd = false;
      if (this.#wishesEndInMs > 0) this.#awaitEnd();
      else this.#onRoom();
    });
  }

  #after(ms: number, work: () => void): void {
    const cancel = this.#clock.after(ms, () => {
      this.#timers.delete(cancel);
      work();
    });
    this.#timers.add(cancel);
  }
}
