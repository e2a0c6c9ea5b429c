/** The many Memcacheds, and ways to make them and to see what becomes of them. */
import { type Memcached, memcachedKind } from '../src/api/index.ts';
import type { Kind, KubernetesObject } from '../src/kubernetes/object.ts';
import { Informer } from '../src/runtime/cache/informer.ts';
import type { Client } from '../src/runtime/client/index.ts';
import { orAborted } from './operator.ts';

/** As many as the operator itself has workers. */
export const PARALLEL = 16;
export const REPLICAS = 2;

/** A cache with a child of every kind. */
export function memcachedNamed(name: string, namespace: string): Memcached {
  const { apiVersion, kind } = memcachedKind;
  return {
    apiVersion,
    kind,
    metadata: { name, namespace },
    spec: {
      autoscaling: { enabled: true, minReplicas: REPLICAS, maxReplicas: 2 * REPLICAS },
      image: 'memcached:1.6',
      memcached: { maxMemoryMB: 64, maxConnections: 1024, threads: 2 },
      resources: { requests: { cpu: '10m', memory: '96Mi' }, limits: { memory: '128Mi' } },
      highAvailability: { podDisruptionBudget: { enabled: true, minAvailable: 1 } },
      security: { networkPolicy: { enabled: true } },
      monitoring: { enabled: true },
    },
  };
}

export function namesOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `cache-${index + 1}`);
}

export async function createCrowd(client: Client, namespace: string, count: number, signal: AbortSignal) {
  return inParallel(namesOf(count), (name) =>
    client.create(memcachedKind, memcachedNamed(name, namespace), { signal }),
  );
}

/** Does the work for each item, so many at once; gives the results in their order. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const entries = items.entries();
  const lane = async () => {
    for (const [index, item] of entries) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: PARALLEL }, lane));
  return results;
}

export interface Sight {
  readonly client: Client;
  readonly namespace: string;
  readonly kind: Kind;
  /** Which objects count; without it every one does, and only metadata is asked for. */
  readonly counts?: (object: KubernetesObject) => boolean;
}

/** Counts objects of a kind as they come. */
export class Counter {
  count = 0;
  readonly #informer: Informer<Seen>;
  readonly #notices = new Set<() => void>();

  constructor({ client, namespace, kind, counts }: Sight, signal: AbortSignal) {
    this.#informer = new Informer({
      client,
      kind,
      namespace,
      metadataOnly: counts === undefined,
      project: (object) => ({ metadata: identityOf(object), counts: counts?.(object) ?? true }),
      log: { debug: () => {}, info: () => {}, error: () => {} },
    });
    this.#informer.onChange((change) => {
      this.count += Number(change.new?.counts ?? false) - Number(change.old?.counts ?? false);
      for (const notice of this.#notices) notice();
    });
    void this.#informer.run(signal);
  }

  get synced(): Promise<void> {
    return this.#informer.synced;
  }

  /** Resolves as soon as there are exactly so many. */
  async until(count: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const notice = () => this.count === count && resolve();
    this.#notices.add(notice);
    notice();
    await orAborted(promise, signal).finally(() => this.#notices.delete(notice));
  }
}

interface Seen {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined };
  readonly counts: boolean;
}

function identityOf({ metadata: { name, namespace } }: KubernetesObject): Seen['metadata'] {
  return { name, namespace };
}

export function isReady(object: KubernetesObject): boolean {
  const { status } = object as Memcached;
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
}
