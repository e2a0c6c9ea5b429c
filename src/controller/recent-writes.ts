/** What we have written and the watch has not told us yet, so that a reconcile in between does not write it again. */

interface Versioned {
  readonly metadata: { readonly resourceVersion?: string };
}

/** What the watch has told so far. */
export interface Watched<Stored> {
  get(key: string): Stored | undefined;
  /** Whether all that has happened up to that version has been told. */
  hasReached(resourceVersion: string): boolean;
}

const FEW = 100;

export class RecentWrites<Stored extends Versioned> {
  readonly #watched: Watched<Stored>;
  readonly #writes = new Map<string, Stored>();
  /** With so many it is time to look for those that nobody has asked for since. */
  #many = FEW;

  constructor(watched: Watched<Stored>) {
    this.#watched = watched;
  }

  remember(key: string, written: Stored): void {
    this.#writes.set(key, written);
    if (this.#writes.size < this.#many) return;
    for (const [other, { metadata }] of this.#writes) if (this.#isTold(metadata)) this.#writes.delete(other);
    this.#many = Math.max(FEW, 2 * this.#writes.size);
  }

  /**
   * What we have written, until the watch is as far; from then on what it has told. That it has told nothing of the object does not
   * mean that it will: what came and went while it was broken is in no list.
   */
  newest(key: string): Stored | undefined {
    const written = this.#writes.get(key);
    if (!written) return this.#watched.get(key);
    if (!this.#isTold(written.metadata)) return written;
    this.#writes.delete(key);
    return this.#watched.get(key);
  }

  /** What we have written, if that was the version that came of it. */
  written(key: string, resourceVersion: string | undefined): Stored | undefined {
    const written = this.#writes.get(key);
    return written?.metadata.resourceVersion === resourceVersion ? written : undefined;
  }

  #isTold({ resourceVersion = '' }: Versioned['metadata']): boolean {
    return this.#watched.hasReached(resourceVersion);
  }
}
