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
import { type Child, children, type Surroundings } from '../children/index.ts';
import type { Kind, KubernetesObject } from '../kubernetes/object.ts';
import type { Fault } from '../status/observation.ts';
import { digestOf, wantedFingerprint } from './fingerprint.ts';

/** The fingerprints of the children that are wanted; nothing for the others. */
export type Fingerprints = ReadonlyMap<Kind, string>;

interface Wish {
  /** Why the spec cannot be carried out. */
  readonly faults: readonly Fault[];
  readonly spec: DefaultedSpec;
  /** Digests of what the fingerprints follow from besides the spec, and what they came to. */
  last?: { readonly besides: string; readonly servers: string; readonly fingerprints: Fingerprints };
}

/** Builds a child; nothing where none is wanted. */
export type Builder = (child: Child) => KubernetesObject | undefined;

/** Builds each child once: who asks for it again gets the same. */
export function builderFor(memcached: DefaultedMemcached, surroundings: Surroundings): Builder {
  const built = new Map<Kind, KubernetesObject | undefined>();
  return ({ kind, build }) => {
    if (!built.has(kind)) built.set(kind, build(memcached, surroundings));
    return built.get(kind);
  };
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

  /**
   * The objects themselves are not kept: most of the time nobody needs them. Kinds that stay as they are may lack what they are made of.
   * Pods come and go, and few children have to do with that: the others are not looked at for it.
   */
  fingerprints(memcached: Memcached, surroundings: Surroundings, options: FingerprintOptions = {}): Fingerprints {
    const { staying = [], build = builderFor(this.wanted(memcached), surroundings) } = options;
    const wish = this.#wishOf(memcached);
    const { name, namespace, uid, annotations } = memcached.metadata;
    const { servers: pods, ...rest } = surroundings;
    const besides = digestOf(JSON.stringify([name, namespace, uid, annotations, rest, staying]));
    const servers = digestOf(JSON.stringify([pods]));
    const known = wish.last?.besides === besides ? wish.last : undefined;
    if (known?.servers === servers) return known.fingerprints;
    const fingerprints = fingerprintsOf(build, staying, known?.fingerprints);
    wish.last = { besides, servers, fingerprints };
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

interface FingerprintOptions {
  readonly staying?: readonly Kind[];
  readonly build?: Builder;
}

/** Those that are known are right for all children but the ones that follow pods. */
export function fingerprintsOf(build: Builder, staying: readonly Kind[] = [], known?: Fingerprints): Fingerprints {
  const fingerprints = new Map<Kind, string>();
  for (const child of children) {
    const { kind, followsPods } = child;
    if (staying.includes(kind)) continue;
    const fingerprint = known && !followsPods ? known.get(kind) : fingerprintOf(build(child));
    if (fingerprint !== undefined) fingerprints.set(kind, fingerprint);
  }
  return fingerprints;
}

function fingerprintOf(desired: KubernetesObject | undefined): string | undefined {
  return desired && wantedFingerprint(desired);
}

function faultsOf(memcached: Memcached): Fault[] {
  return obstacles(memcached).map(({ field, message }) => ({
    reason: 'InvalidSpec',
    message: `${field}: ${message}`,
  }));
}
