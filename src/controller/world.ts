/** Everything that the operator knows about the cluster: what the watches tell, and what it has just written itself. */
import { type Memcached, memcachedKind } from '../api/index.ts';
import { endpointSliceKind } from '../children/endpoint-slice.ts';
import { children, MANAGED_SELECTOR } from '../children/index.ts';
import type { Kind, KubernetesObject } from '../kubernetes/object.ts';
import { Informer } from '../runtime/cache/index.ts';
import type { Client } from '../runtime/client/index.ts';
import { keyOf } from '../runtime/key.ts';
import type { Log } from '../runtime/log.ts';
import type { Seen } from './difference.ts';
import { type ObservedChild, type ObservedPod, observeChild, observePod } from './observed.ts';
import { RecentWrites } from './recent-writes.ts';
import { secretKeys } from './secrets/references.ts';
import { Secrets } from './secrets/secrets.ts';
import type { Slots } from './slots/slots.ts';

export const podKind: Kind = { apiVersion: 'v1', kind: 'Pod', plural: 'pods', namespaced: true };

const BY_MEMCACHED = 'memcached';
const BY_SECRET = 'secret';

export interface WorldOptions {
  readonly client: Pick<Client, 'list' | 'watch' | 'get'>;
  /** Only this namespace; all of them otherwise. */
  readonly namespace?: string;
  readonly log: Log;
}

export class World {
  readonly memcacheds: Informer<Memcached & { readonly metadata: { readonly name: string } }>;
  readonly children: ReadonlyMap<Kind, Informer<ObservedChild>>;
  readonly pods: Informer<ObservedPod>;
  readonly secrets: Secrets;
  readonly #newestMemcacheds: RecentWrites<Memcached>;
  readonly #newestChildren: ReadonlyMap<Kind, RecentWrites<ObservedChild>>;
  /** Who had which name, where somebody has deleted the EndpointSlice that says it. */
  readonly #lostSlots = new Map<string, Slots>();
  /** Wanted fingerprints that the server is known to store as others, by uid. */
  readonly #rewrites = new Map<string, { readonly wanted: string; readonly observed: string }>();

  constructor({ client, namespace, log }: WorldOptions) {
    const scope = { client, log, ...(namespace !== undefined && { namespace }) };
    this.memcacheds = new Informer({
      ...scope,
      kind: memcachedKind,
      project: withoutManagedFields,
      indexes: { [BY_SECRET]: secretKeys },
    });
    this.children = new Map(
      children.map(({ kind, selector: labelSelector = MANAGED_SELECTOR }) => [
        kind,
        new Informer({ ...scope, kind, labelSelector, project: this.#observer(kind) }),
      ]),
    );
    this.pods = new Informer({
      ...scope,
      kind: podKind,
      labelSelector: MANAGED_SELECTOR,
      project: observePod,
      indexes: { [BY_MEMCACHED]: (pod) => (pod.memcached === undefined ? [] : [pod.memcached]) },
    });
    this.secrets = new Secrets(scope);
    this.#newestMemcacheds = new RecentWrites(this.memcacheds);
    this.#newestChildren = new Map([...this.children].map(([kind, informer]) => [kind, new RecentWrites(informer)]));
    this.memcacheds.onChange((change) => {
      for (const key of change.old ? secretKeys(change.old) : [])
        if (this.namingSecret(key).length === 0) this.secrets.forget(key);
      if (change.old && !change.new) this.#lostSlots.delete(keyOf(change.old));
    });
    this.children.get(endpointSliceKind)?.onChange(({ old, new: now }) => {
      if (now) this.#lostSlots.delete(keyOf(now));
      else if (old?.slots && this.memcached(keyOf(old))) this.#lostSlots.set(keyOf(old), old.slots);
    });
    for (const informer of this.children.values()) {
      informer.onChange((change) => {
        if (change.old && !change.new) this.#rewrites.delete(change.old.metadata.uid);
      });
    }
  }

  /** What we have written ourselves has been looked at already, when the watch tells it. */
  #observer(kind: Kind) {
    return (object: KubernetesObject, previous: ObservedChild | undefined, key: string): ObservedChild =>
      this.#newestChildren.get(kind)?.written(key, object.metadata.resourceVersion) ?? observeChild(object, previous);
  }

  get informers() {
    return [this.memcacheds, ...this.children.values(), this.pods, this.secrets.informer];
  }

  /** Those whose kinds are there only while a CustomResourceDefinition is. */
  get ofCustomKinds() {
    const custom = children.filter(({ needsCrd }) => needsCrd).flatMap(({ kind }) => this.children.get(kind) ?? []);
    return [this.memcacheds, ...custom];
  }

  memcached(key: string): Memcached | undefined {
    return this.#newestMemcacheds.newest(key);
  }

  /** Whether it is as we have left it: then it says nothing that we do not know. */
  isOwnWrite(key: string, { metadata }: Memcached): boolean {
    return this.#newestMemcacheds.written(key, metadata.resourceVersion) !== undefined;
  }

  child(kind: Kind, key: string): ObservedChild | undefined {
    return this.#newestChildren.get(kind)?.newest(key);
  }

  /** Which pods have which names, by the EndpointSlice that is there or was there last. */
  slotsOf(key: string): Slots {
    return this.child(endpointSliceKind, key)?.slots ?? this.#lostSlots.get(key) ?? [];
  }

  podsOf(key: string): readonly ObservedPod[] {
    return this.pods.byIndex(BY_MEMCACHED, key);
  }

  /** The Memcacheds that name a Secret. */
  namingSecret(key: string): readonly Memcached[] {
    return this.memcacheds.byIndex(BY_SECRET, key);
  }

  /** The children of one Memcached, which all have its name. */
  seen(key: string): Seen {
    return {
      child: (kind) => this.child(kind, key),
      pods: this.podsOf(key),
      isServed: (kind) => this.children.get(kind)?.isPresent() === true,
      isKnownRewrite: (uid, wanted, observed) => {
        const known = this.#rewrites.get(uid);
        return known?.wanted === wanted && known.observed === observed;
      },
    };
  }

  /** Does a write of a Memcached, and knows its result from then on. */
  async writeMemcached(key: string, write: () => Promise<Memcached | undefined>): Promise<void> {
    const written = await write();
    if (written) this.#newestMemcacheds.remember(key, withoutManagedFields(written, this.memcached(key)));
  }

  /** Does a write of a child, and knows its result from then on. */
  async writeChild(
    kind: Kind,
    key: string,
    wanted: string,
    write: () => Promise<KubernetesObject | undefined>,
  ): Promise<void> {
    const written = await write();
    if (!written) return;
    const before = this.child(kind, key);
    const isTold = before?.metadata.resourceVersion === written.metadata.resourceVersion; // the watch was faster, or nothing was new
    const observed = before && isTold ? before : observeChild(written, before);
    // Should the server store something of it in other words, then we do not repeat ourselves.
    if (observed.fingerprint !== wanted)
      this.#rewrites.set(observed.metadata.uid, { wanted, observed: observed.fingerprint });
    this.#newestChildren.get(kind)?.remember(key, observed);
  }
}

/** A spec that has not changed stays the same object, which tells by itself that nothing has to be computed anew. */
function withoutManagedFields(object: KubernetesObject, previous?: Memcached): Memcached {
  const { managedFields: _, ...metadata } = object.metadata as typeof object.metadata & { managedFields?: unknown };
  const { spec, ...rest } = object as Memcached;
  const isSame = previous?.metadata.uid === metadata.uid && previous?.metadata.generation === metadata.generation;
  return { ...rest, metadata, spec: isSame && previous ? previous.spec : spec };
}
