/** What Memcacheds ask for, computed anew only where something of it has changed: that is seldom, while reconciles are frequent. */
import {
  type DefaultedMemcached,
  type DefaultedSpec,
  type DefaultOptions,
  type Memcached,
  type MemcachedSpec,
  obstacles,
  withDefaults,
} from '../api/index.ts';
import { children, type Surroundings } from '../children/index.ts';
import type { Kind } from '../kubernetes/object.ts';
import type { Fault } from '../status/observation.ts';
import { digestOf, wantedFingerprint } from './fingerprint.ts';

/** The fingerprints of the children that are wanted; nothing for the others. */
export type Fingerprints = ReadonlyMap<Kind, string>;

interface Wish {
  /** Why the spec cannot be carried out. */
  readonly faults: readonly Fault[];
  readonly spec: DefaultedSpec;
  /** A digest of what the fingerprints follow from besides the spec, and what they came to. */
  last?: { readonly besides: string; readonly fingerprints: Fingerprints };
}

export class Wishes {
  readonly #defaults: DefaultOptions;
  /** By the spec as it was read, which is the same object until it changes. */
  readonly #wishes = new WeakMap<MemcachedSpec, Wish>();

  constructor(defaults: DefaultOptions) {
    this.#defaults = defaults;
  }

  faults(memcached: Memcached): readonly Fault[] {
    return this.#wishOf(memcached).faults;
  }

  /** With everything that has a default. */
  wanted(memcached: Memcached): DefaultedMemcached {
    return { ...memcached, spec: this.#wishOf(memcached).spec };
  }

  /** The objects themselves are not kept: most of the time nobody needs them. Kinds that stay as they are may lack what they are made of. */
  fingerprints(memcached: Memcached, surroundings: Surroundings, staying: readonly Kind[] = []): Fingerprints {
    const wish = this.#wishOf(memcached);
    const { name, namespace, uid, annotations } = memcached.metadata;
    const besides = digestOf(JSON.stringify([name, namespace, uid, annotations, surroundings, staying]));
    if (wish.last?.besides === besides) return wish.last.fingerprints;
    const fingerprints = fingerprintsOf(this.wanted(memcached), surroundings, staying);
    wish.last = { besides, fingerprints };
    return fingerprints;
  }

  #wishOf(memcached: Memcached): Wish {
    const known = this.#wishes.get(memcached.spec);
    if (known) return known;
    const wish = { faults: faultsOf(memcached), spec: withDefaults(memcached, this.#defaults).spec };
    this.#wishes.set(memcached.spec, wish);
    return wish;
  }
}

export function fingerprintsOf(
  memcached: DefaultedMemcached,
  surroundings: Surroundings,
  staying: readonly Kind[] = [],
): Fingerprints {
  const entries = children.flatMap(({ kind, build }): [Kind, string][] => {
    const desired = staying.includes(kind) ? undefined : build(memcached, surroundings);
    return desired ? [[kind, wantedFingerprint(desired)]] : [];
  });
  return new Map(entries);
}

function faultsOf(memcached: Memcached): Fault[] {
  return obstacles(memcached).map(({ field, message }) => ({
    reason: 'InvalidSpec',
    message: `${field}: ${message}`,
  }));
}
