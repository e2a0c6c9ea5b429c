/** Follows an object through every version of it. */
import { onTestFinished } from 'vitest';
import type { Kind, KubernetesObject } from '../../src/kubernetes/object.ts';
import { find, NAMESPACE, type Stage, until } from './memcacheds.ts';

export class Versions<T extends KubernetesObject, Value> {
  readonly #at: Stage;
  readonly #kind: Kind;
  readonly #name: string;
  readonly #read: (object: T) => Value;
  readonly #seen = new Map<string | undefined, Value>();
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  private constructor(at: Stage, kind: Kind, name: string, read: (object: T) => Value) {
    this.#at = at;
    this.#kind = kind;
    this.#name = name;
    this.#read = read;
    this.#done = this.#follow();
    onTestFinished(async () => {
      this.#stop.abort();
      await this.#done;
    });
  }

  /** Begins with the object as it is now, if there is one. */
  static async begin<T extends KubernetesObject, Value>(
    at: Stage,
    kind: Kind,
    name: string,
    read: (object: T) => Value,
    signal: AbortSignal,
  ): Promise<Versions<T, Value>> {
    const versions = new Versions(at, kind, name, read);
    await versions.#catchUp(signal);
    return versions;
  }

  /** What was read, one value for each version, up to now. */
  async upToNow(signal: AbortSignal): Promise<Value[]> {
    await this.#catchUp(signal);
    return [...this.#seen.values()];
  }

  /** The same without repetitions in a row. */
  async changes(signal: AbortSignal): Promise<Value[]> {
    const values = await this.upToNow(signal);
    return values.filter((value, index) => index === 0 || value !== values[index - 1]);
  }

  async #catchUp(signal: AbortSignal): Promise<void> {
    // Looked at each time: a watch that begins late never tells of a version that was replaced before.
    const hasSeen = async () => {
      const now = await find(this.#at, this.#kind, this.#name);
      return !now || this.#seen.has(now.metadata.resourceVersion);
    };
    await until(this.#at, 'the watch has told it', hasSeen, Boolean, signal);
  }

  async #follow(): Promise<void> {
    const options = { namespace: NAMESPACE, fieldSelector: `metadata.name=${this.#name}`, signal: this.#stop.signal };
    for await (const { type, object } of this.#at.client.watch(this.#kind, options)) {
      if (type !== 'ADDED' && type !== 'MODIFIED') continue;
      const seen = object as T;
      this.#seen.set(seen.metadata.resourceVersion, this.#read(seen));
    }
  }
}
