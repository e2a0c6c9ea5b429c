/** What the cache holds: objects by key, and keys by what an index says about the objects. */
import type { Named } from '../key.ts';

/** The least that is kept of an object. Without a resourceVersion each version counts as a new one. */
export interface StoredObject extends Named {
  readonly metadata: Named['metadata'] & {
    readonly uid?: string | undefined;
    readonly resourceVersion?: string | undefined;
  };
}

/** Without `old` it has come, without `new` it has gone. An object that was replaced unseen has another uid in `new`. */
export interface Change<Stored> {
  readonly old?: Stored;
  readonly new?: Stored;
}

/** The values under which an object is found. */
export type IndexFunction<Stored> = (stored: Stored) => readonly string[];

export class Store<Stored extends StoredObject> {
  readonly #objects = new Map<string, Stored>();
  readonly #indexes: ReadonlyMap<string, Index<Stored>>;

  constructor(indexes: Readonly<Record<string, IndexFunction<Stored>>> = {}) {
    this.#indexes = new Map(Object.entries(indexes).map(([name, valuesOf]) => [name, new Index(valuesOf)]));
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): Stored | undefined {
    return this.#objects.get(key);
  }

  list(): Stored[] {
    return [...this.#objects.values()];
  }

  byIndex(name: string, value: string): Stored[] {
    const index = this.#indexes.get(name);
    if (!index) throw new TypeError(`there is no index "${name}"`);
    return index.keys(value).flatMap((key) => this.#objects.get(key) ?? []);
  }

  /** Nothing, if it is the version that is there already. */
  set(key: string, stored: Stored): Change<Stored> | undefined {
    const old = this.#objects.get(key);
    if (old && isSameVersion(old, stored)) return undefined;
    this.#objects.set(key, stored);
    for (const index of this.#indexes.values()) index.move(key, old, stored);
    return old ? { old, new: stored } : { new: stored };
  }

  delete(key: string): Change<Stored> | undefined {
    const old = this.#objects.get(key);
    if (!old) return undefined;
    this.#objects.delete(key);
    for (const index of this.#indexes.values()) index.move(key, old, undefined);
    return { old };
  }

  /** Takes these contents for the old ones, all at once. Gives back what is different. */
  replace(fresh: Map<string, Stored>): Change<Stored>[] {
    const changes: Change<Stored>[] = [];
    for (const key of this.#objects.keys()) {
      const change = fresh.has(key) ? undefined : this.delete(key);
      if (change) changes.push(change);
    }
    for (const [key, stored] of fresh) {
      const change = this.set(key, stored);
      if (change) changes.push(change);
    }
    return changes;
  }
}

function isSameVersion({ metadata: old }: StoredObject, { metadata: next }: StoredObject): boolean {
  return old.resourceVersion !== undefined && old.resourceVersion === next.resourceVersion;
}

class Index<Stored> {
  readonly #valuesOf: IndexFunction<Stored>;
  /** Most values lead to one key only, for which a set would take 280 bytes instead of 50. */
  readonly #keys = new Map<string, string | Set<string>>();

  constructor(valuesOf: IndexFunction<Stored>) {
    this.#valuesOf = valuesOf;
  }

  keys(value: string): string[] {
    const keys = this.#keys.get(value) ?? [];
    return typeof keys === 'string' ? [keys] : [...keys];
  }

  move(key: string, old: Stored | undefined, next: Stored | undefined): void {
    for (const value of old ? this.#valuesOf(old) : []) this.#remove(value, key);
    for (const value of next ? this.#valuesOf(next) : []) this.#add(value, key);
  }

  #add(value: string, key: string): void {
    const keys = this.#keys.get(value);
    if (keys === undefined) this.#keys.set(value, key);
    else if (typeof keys !== 'string') keys.add(key);
    else if (keys !== key) this.#keys.set(value, new Set([keys, key]));
  }

  #remove(value: string, key: string): void {
    const keys = this.#keys.get(value);
    if (keys === key) this.#keys.delete(value);
    else if (typeof keys === 'object' && keys.delete(key) && keys.size === 0) this.#keys.delete(value);
  }
}
