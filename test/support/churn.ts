/** Memcacheds that change at random, and whether the cluster is what they say in the end. */
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { type Memcached, type MemcachedSpec, memcachedKind, withDefaults } from '../../src/api/index.ts';
import { type Child, children, deploymentKind, MANAGED_BY, MANAGED_SELECTOR } from '../../src/children/index.ts';
import { observedFingerprint, wantedFingerprint } from '../../src/controller/fingerprint.ts';
import type { Kind, KubernetesObject } from '../../src/kubernetes/object.ts';
import { ApiError, ConnectionLost } from '../../src/runtime/client/index.ts';
import { isReady, isUpToDate, memcached, NAMESPACE, type Stage } from './memcacheds.ts';

const spec: fc.Arbitrary<MemcachedSpec> = fc.record({
  replicas: fc.nat(2),
  memcached: fc.record({ maxMemoryMB: fc.integer({ min: 64, max: 512 }) }),
  service: fc.record({ annotations: fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('1', '2')) }),
});

/** Something that somebody does: to a Memcached, or (`meddle`, `destroy`) to its Deployment. */
export const deed = fc.record({
  number: fc.nat(),
  verb: fc.constantFrom('create', 'create', 'change', 'change', 'delete', 'meddle', 'destroy'),
  spec,
});
export type Deed = typeof deed extends fc.Arbitrary<infer Value> ? Value : never;

/** What is not as it should be: for the operator to see to, and for the rest of Kubernetes. */
export interface Unfinished {
  readonly ours: string[];
  readonly theirs: string[];
}

export class Churn {
  /** What should be there in the end. */
  readonly wanted = new Map<string, MemcachedSpec>();
  readonly #at: Pick<Stage, 'client'>;
  readonly #names: readonly string[];
  readonly #mostReplicas: number;

  /** Of so many Memcacheds, each of which may be there or not. Without nodes, none of them may want replicas. */
  constructor(at: Pick<Stage, 'client'>, count: number, mostReplicas = 2) {
    this.#at = at;
    this.#mostReplicas = mostReplicas;
    this.#names = Array.from({ length: count }, (_, index) => `victim-${index}`);
  }

  /** So many deeds, one after another, spread over that time. */
  async rage(count: number, ms: number, seed: number, signal: AbortSignal): Promise<void> {
    const since = performance.now();
    for (const [index, one] of fc.sample(deed, { seed, numRuns: count }).entries()) {
      await this.act(one);
      const early = (ms * (index + 1)) / count - (performance.now() - since);
      if (early > 0) await sleep(early, undefined, { signal });
      else signal.throwIfAborted();
    }
  }

  /** However often it takes: the server may be gone just now. */
  async act({ number, verb, spec: meant }: Deed): Promise<void> {
    const name = this.#names[number % this.#names.length] ?? '';
    const now = { ...meant, replicas: Math.min(meant.replicas ?? 1, this.#mostReplicas) };
    const exists = this.wanted.has(name);
    const { client } = this.#at;
    if (verb === 'delete' && exists) {
      this.wanted.delete(name);
      await persistently(() => unless(404, client.delete(memcachedKind, name, NAMESPACE)));
    } else if (verb === 'create' && !exists) {
      this.wanted.set(name, now);
      await persistently(() => unless(409, client.create(memcachedKind, memcached(name, now))));
    } else if ((verb === 'change' || verb === 'create') && exists) {
      this.wanted.set(name, now);
      const body = [{ op: 'replace', path: '/spec', value: now }];
      await persistently(() => client.patch(memcachedKind, name, NAMESPACE, { type: 'json', body }));
    } else if (verb === 'meddle') {
      const body = { spec: { replicas: 1, template: { spec: { terminationGracePeriodSeconds: 7 } } } };
      await persistently(() => unless(404, client.patch(deploymentKind, name, NAMESPACE, { type: 'merge', body })));
    } else if (verb === 'destroy') {
      await persistently(() => unless(404, client.delete(deploymentKind, name, NAMESPACE)));
    }
  }

  /** Creates those that are not there. */
  async complete(): Promise<void> {
    for (const number of this.#names.keys())
      if (!this.wanted.has(this.#names[number] ?? '')) await this.act({ number, verb: 'create', spec: {} });
  }

  async unfinished(): Promise<Unfinished> {
    const memcacheds = await this.#list<Memcached>(memcachedKind);
    const ours = memcacheds.filter((one) => !isUpToDate(one)).map((one) => `${one.metadata.name} has an old status`);
    const theirs = memcacheds.filter((one) => !isReady(one)).map((one) => `${one.metadata.name} is not ready`);
    if (memcacheds.length !== this.wanted.size) theirs.push(`${memcacheds.length} Memcacheds`);
    for (const child of children.filter(followsSpec)) {
      const objects = await this.#list<KubernetesObject>(child.kind, MANAGED_SELECTOR);
      const found = new Map(objects.map((one) => [one.metadata.name, one]));
      for (const one of memcacheds) {
        const object = found.get(one.metadata.name);
        if (object && ownerOf(object) !== one.metadata.uid) continue;
        ours.push(...(complaint(one, child, object) ?? []));
        found.delete(one.metadata.name);
      }
      // Their Memcached is gone, perhaps for a new one of the same name: the garbage collector has to see that first.
      theirs.push(...[...found.keys()].map((name) => `${child.kind.kind} ${name} is too many`));
    }
    return { ours, theirs };
  }

  async #list<T>(kind: Kind, labelSelector?: string): Promise<readonly T[]> {
    return (await persistently(() => this.#at.client.list<T>(kind, { namespace: NAMESPACE, labelSelector }))).items;
  }
}

/** Whether it is there in every cluster, and can be told from the Memcached alone. */
function followsSpec({ needsCrd, followsPods }: Child): boolean {
  return !needsCrd && !followsPods;
}

/** What is wrong with a child, if anything is. */
function complaint(
  owner: Memcached,
  { kind, build }: Child,
  object: KubernetesObject | undefined,
): [string] | undefined {
  const desired = build(withDefaults(owner), {});
  const what = `${kind.kind} ${owner.metadata.name}`;
  if (!desired) return object && [`${what} is too many`];
  if (!object) return [`${what} is missing`];
  const isAsWanted = observedFingerprint({ ...object, ...kind }, MANAGED_BY) === wantedFingerprint(desired);
  return isAsWanted ? undefined : [`${what} is not as wanted`];
}

function ownerOf({ metadata }: KubernetesObject): string | undefined {
  return metadata.ownerReferences?.[0]?.uid;
}

const PATIENCE_MS = 120_000;

/** Until the server has said something. */
async function persistently<T>(call: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const isAway = error instanceof ConnectionLost || (error instanceof ApiError && error.status >= 500);
      if (!isAway || performance.now() > deadline) throw error;
      await sleep(100);
    }
  }
}

/** With this answer it has been done before, or need not be done. */
async function unless(status: number, call: Promise<unknown>): Promise<void> {
  await call.catch((error: unknown) => {
    if (!(error instanceof ApiError && error.status === status)) throw error;
  });
}
