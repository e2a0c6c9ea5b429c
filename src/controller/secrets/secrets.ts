/** The Secrets of the cluster: all are watched by their metadata, and those that a Memcached names are read, once for each version. */
import type { Kind } from '../../kubernetes/object.ts';
import { Informer, type InformerOptions, type StoredObject } from '../../runtime/cache/index.ts';
import { type Client, isNotFound } from '../../runtime/client/index.ts';
import { keyOf, partsOf } from '../../runtime/key.ts';
import type { Secret } from './content.ts';
import { factsOf, type SecretFacts } from './facts.ts';

export const secretKind: Kind = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true };

export interface SecretsOptions extends Pick<InformerOptions<StoredObject>, 'namespace' | 'log'> {
  readonly client: Pick<Client, 'list' | 'watch' | 'get'>;
}

interface Known {
  /** Without a version there was no such Secret. */
  readonly version?: string;
  readonly facts?: SecretFacts;
  /** Whoever asks the servers for their figures needs it. */
  readonly secret?: Secret;
}

export class Secrets {
  readonly informer: Informer<StoredObject>;
  readonly #client: Pick<Client, 'get'>;
  /** What was found last. */
  readonly #known = new Map<string, Known>();
  /** Reads that are under way, by key and version: whoever else wants to know waits for the same. */
  readonly #reading = new Map<string, Promise<Known>>();

  constructor(options: SecretsOptions) {
    this.#client = options.client;
    this.informer = new Informer({
      ...options,
      kind: secretKind,
      metadataOnly: true,
      project: ({ metadata: { resourceVersion } }, previous, key) =>
        new Identity(previous instanceof Identity ? previous.key : key, resourceVersion),
    });
    this.informer.onChange((change) => {
      if (!change.new && change.old) this.forget(keyOf(change.old));
    });
  }

  /** It is gone, or nobody wants to know any more. */
  forget(key: string): void {
    this.#known.delete(key);
  }

  /** What is to be known about the Secret; nothing if there is none. Rejects when the API does not tell. */
  async facts(key: string, signal: AbortSignal): Promise<SecretFacts | undefined> {
    return (await this.#current(key, signal)).facts;
  }

  /** What was found last, without asking anybody: nothing while nobody has wanted to know. */
  lastFacts(key: string): SecretFacts | undefined {
    return this.#known.get(key)?.facts;
  }

  /** The Secret itself; nothing if there is none. Rejects when the API does not tell. */
  async secret(key: string, signal: AbortSignal): Promise<Secret | undefined> {
    return (await this.#current(key, signal)).secret;
  }

  async #current(key: string, signal: AbortSignal): Promise<Known> {
    const watched = this.informer.get(key);
    const version = watched && versionOf(watched);
    const known = this.#known.get(key);
    if (known && known.version === version) return known;
    const question = `${key} ${version}`;
    const reading =
      this.#reading.get(question) ?? this.#read(key, signal).finally(() => this.#reading.delete(question));
    this.#reading.set(question, reading);
    return reading;
  }

  /** One that was not watched yet is asked for as well: it may have been created a moment ago. */
  async #read(key: string, signal: AbortSignal): Promise<Known> {
    const { name, namespace } = partsOf(key);
    try {
      const secret = await this.#client.get<Secret>(secretKind, name, namespace, { signal });
      const known = { version: versionOf(secret), facts: factsOf(secret), secret };
      this.#known.set(key, known);
      return known;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const known = {};
      this.#known.set(key, known); // until the watch tells of it
      return known;
    }
  }
}

/**
 * No more than that, in one object that is its own metadata, with the text that it is stored by: there may be thousands of
 * which nobody here has heard, 150 bytes each instead of 290. A version is never that of two Secrets.
 */
class Identity implements StoredObject {
  readonly key: string;
  readonly resourceVersion: string | undefined;

  constructor(key: string, resourceVersion: string | undefined) {
    this.key = key;
    this.resourceVersion = resourceVersion;
  }

  get name(): string {
    return partsOf(this.key).name;
  }

  get namespace(): string | undefined {
    return partsOf(this.key).namespace;
  }

  get metadata(): this {
    return this;
  }
}

function versionOf({ metadata: { resourceVersion = '' } }: StoredObject): string {
  return resourceVersion;
}
