/** Holds back what makes much work for others: few at once, and after each a rest, the longer the slower the answers are. */
import type { Clock } from '../clock.ts';

const AT_ONCE = 4;
/** So long after the last wish, nobody counts as asking for something new. Until then one begins at a time: wishes come first, but not for ever. */
const WISHES_END_MS = 500;
/** So many times as long as the work took: where the server has less to spare, less is asked of it. */
const REST = 15;
/** Who is answered slowly for a reason of his own does not let everybody else rest for longer. */
const LONGEST_REST_MS = 1000;

export class Restraint {
  readonly #onRoom: () => void;
  readonly #clock: Clock;
  /** When those began that are at work or rest after it. */
  readonly #begun: number[] = [];
  #wishedAt = Number.NEGATIVE_INFINITY;
  readonly #timers = new Set<() => void>();
  #awaitsEnd = false;

  /** Calls back whenever there may be room again. */
  constructor(onRoom: () => void, clock: Clock) {
    this.#onRoom = onRoom;
    this.#clock = clock;
  }

  get hasRoom(): boolean {
    if (this.#begun.length >= AT_ONCE) return false;
    return this.#wishesEndInMs <= 0 || this.#begun.every((at) => this.#clock.now() - at >= LONGEST_REST_MS);
  }

  begin(at: number): void {
    this.#begun.push(at);
    this.#after(LONGEST_REST_MS + 1, this.#onRoom); // a timer of Node may be early by a part of a millisecond
  }

  /** Of one that began then. */
  end(at: number): void {
    this.#after(Math.min(REST * (this.#clock.now() - at), LONGEST_REST_MS), () => {
      this.#begun.splice(this.#begun.indexOf(at), 1);
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
    const ms = this.#wishesEndInMs; // asked once: the next answer is another one
    this.#awaitsEnd = ms > 0;
    if (ms > 0) this.#after(ms, () => this.#awaitEnd());
    else this.#onRoom();
  }

  #after(ms: number, work: () => void): void {
    const cancel = this.#clock.after(ms, () => {
      this.#timers.delete(cancel);
      work();
    });
    this.#timers.add(cancel);
  }
}
