/** How often something is said of the same thing: who has just spoken, waits. */
export class Pace {
  readonly #everyMs: number;
  readonly #now: () => Date;
  /** Who has spoken last, latest at the end; those who may speak again are forgotten. */
  readonly #last = new Map<string, number>();

  constructor(everyMs: number, now: () => Date) {
    this.#everyMs = everyMs;
    this.#now = now;
  }

  /** How long to wait, in milliseconds. */
  waitMs(key: string): number {
    const sinceMs = this.#now().getTime() - (this.#last.get(key) ?? -Infinity);
    return sinceMs < 0 ? 0 : Math.max(0, this.#everyMs - sinceMs); // a clock may be set back
  }

  spoken(key: string): void {
    const now = this.#now().getTime();
    this.#last.delete(key);
    this.#last.set(key, now);
    for (const [other, time] of this.#last) {
      if (Math.abs(now - time) < this.#everyMs) break;
      this.#last.delete(other);
    }
  }
}
