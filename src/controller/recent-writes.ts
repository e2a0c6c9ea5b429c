/** What we have written and the watch has not told us yet, so that a reconcile in between does not write it again. */

interface Versioned {
  readonly metadata: { readonly resourceVersion?: string };
}

export class RecentWrites<Stored extends Versioned> {
  readonly #writes = new Map<string, Stored>();
  /** Writes that are under way, and whether the object was seen to be deleted meanwhile. */
  readonly #running = new Map<string, { isDeleted: boolean }>();

  /** Does the write and remembers what it gave. */
  async during<Result extends Stored | undefined>(key: string, write: () => Promise<Result>): Promise<Result> {
    const state = { isDeleted: false };
    this.#running.set(key, state);
    try {
      const written = await write();
      if (written && !state.isDeleted) this.#writes.set(key, written);
      return written;
    } finally {
      this.#running.delete(key);
    }
  }

  /** The watch has told something about the object; nothing means that it is gone. */
  seen(key: string, now: Stored | undefined): void {
    const running = this.#running.get(key);
    if (running && !now) running.isDeleted = true;
    const written = this.#writes.get(key);
    if (written && (!now || !isNewer(written, now))) this.#writes.delete(key);
  }

  /** The newer one of what we have written and what the watch has told. */
  newest(key: string, watched: Stored | undefined): Stored | undefined {
    const written = this.#writes.get(key);
    return written && (!watched || isNewer(written, watched)) ? written : watched;
  }
}

/** Versions are whole numbers without a limit, written in decimal. */
function isNewer(a: Versioned, b: Versioned): boolean {
  const [left, right] = [a.metadata.resourceVersion ?? '', b.metadata.resourceVersion ?? ''];
  return left.length === right.length ? left > right : left.length > right.length;
}
