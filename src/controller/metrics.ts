/** The numbers that only this operator has: about each Memcached, about its watches, and about itself. */
import type { Memcached, MemcachedStatus } from '../api/index.ts';
import type { Figures } from '../memcached/index.ts';
import type { Informer, StoredObject } from '../runtime/cache/index.ts';
import { partsOf } from '../runtime/key.ts';
import type { Registry } from '../runtime/metrics/registry.ts';
import { secretReferences } from './secrets/references.ts';
import type { Secrets } from './secrets/secrets.ts';
import type { Gatherer } from './statistics/gatherer.ts';
import type { World } from './world.ts';

const PREFIX = 'memcached_operator';

/** Nothing is kept for metrics: all of it is read from what the watches tell, so that what is gone there is gone here. */
export type Seen = Pick<World, 'informers'> & { readonly memcacheds: Pick<World['memcacheds'], 'list' | 'size'> };

/** With more there would be pages of megabytes, and a Prometheus that has better things to do. */
const MOST_INSTANCES = 10_000;

const INSTANCE = ['namespace', 'name'] as const;

/** One series each and instance, as long as the status says something about it. */
const FIGURES: readonly {
  readonly name: string;
  readonly help: string;
  readonly value: (status: MemcachedStatus) => number | undefined;
}[] = [
  { name: 'desired_replicas', help: 'Servers that are wanted', value: ({ replicas }) => replicas },
  { name: 'ready_replicas', help: 'Servers that are ready', value: ({ readyReplicas }) => readyReplicas },
  {
    name: 'connections',
    help: 'Open connections of clients, of all servers together',
    value: ({ currentConnections }) => currentConnections,
  },
  {
    name: 'hit_ratio',
    help: 'Share of the gets that found their key, from 0 to 1, of all servers together',
    value: ({ hitRatio }) => (hitRatio === undefined ? undefined : Number(hitRatio)),
  },
];

/** Ours; what others may write beside them into the status makes no series. */
const CONDITIONS = ['Available', 'Progressing', 'Degraded', 'Ready'];
const CONDITION_VALUES: Readonly<Record<string, number>> = { True: 1, False: 0 };

export function operatorMetrics(
  registry: Registry,
  worlds: readonly Seen[],
  built: { readonly version: string; readonly node: string },
): void {
  registry.computed(
    'gauge',
    { name: `${PREFIX}_build_info`, help: 'Always 1; the labels say what runs', labels: ['version', 'node'] },
    () => [[built, 1]],
  );
  instanceMetrics(registry, worlds);
  watchMetrics(registry, worlds);
}

function instanceMetrics(registry: Registry, worlds: readonly Seen[]): void {
  registry.computed('gauge', { name: `${PREFIX}_instances`, help: 'Memcacheds that there are' }, () =>
    worlds.reduce((sum, { memcacheds }) => sum + memcacheds.size, 0),
  );
  const statuses = () =>
    worlds
      .values()
      .flatMap(({ memcacheds }) => memcacheds.list())
      .take(MOST_INSTANCES);
  for (const { name, help, value } of FIGURES) {
    registry.computed('gauge', { name: `${PREFIX}_instance_${name}`, help, labels: INSTANCE }, () =>
      statuses().flatMap((memcached) => {
        const number = value(memcached.status ?? {});
        return number === undefined ? [] : [[instanceOf(memcached), number] as const];
      }),
    );
  }
  registry.computed(
    'gauge',
    {
      name: `${PREFIX}_instance_condition`,
      help: `1 where the condition (${CONDITIONS.join(', ')}) is True, 0 where it is False`,
      labels: [...INSTANCE, 'condition'],
    },
    () => statuses().flatMap(conditionsOf),
  );
}

function conditionsOf(memcached: Memcached) {
  return (memcached.status?.conditions ?? []).flatMap(({ type, status }) => {
    const value = CONDITION_VALUES[status];
    if (value === undefined || !CONDITIONS.includes(type)) return [];
    return [[{ ...instanceOf(memcached), condition: type }, value] as const];
  });
}

function instanceOf({ metadata: { namespace = '', name } }: Memcached) {
  return { namespace, name };
}

/** What one server tells, as it tells it. */
const SERVER_FIGURES: readonly {
  readonly name: string;
  readonly type: 'gauge' | 'counter';
  readonly help: string;
  readonly value: (figures: Figures) => number;
}[] = [
  { name: 'connections', type: 'gauge', help: 'Open connections', value: ({ connections }) => connections },
  { name: 'get_hits_total', type: 'counter', help: 'Gets that found their key', value: ({ hits }) => hits },
  { name: 'get_misses_total', type: 'counter', help: 'Gets that did not', value: ({ misses }) => misses },
  { name: 'items', type: 'gauge', help: 'Items that are kept', value: ({ items }) => items },
  { name: 'bytes', type: 'gauge', help: 'Memory that the items take', value: ({ bytes }) => bytes },
  { name: 'limit_bytes', type: 'gauge', help: 'Memory that items may take', value: ({ limitBytes }) => limitBytes },
  {
    name: 'evictions_total',
    type: 'counter',
    help: 'Items that made room for others',
    value: (told) => told.evictions,
  },
  { name: 'uptime_seconds', type: 'gauge', help: 'Time since the server started', value: (told) => told.uptimeSeconds },
];

/** With more there would be pages of megabytes, as with instances. */
const MOST_SERVERS = 20_000;

/** As the servers told it when they were last asked. */
export function serverMetrics(registry: Registry, gathered: Pick<Gatherer, 'keys' | 'answersOf'>): void {
  const answers = () =>
    Iterator.from(gathered.keys)
      .flatMap((key) => (gathered.answersOf(key) ?? []).map(({ pod, figures }) => ({ ...partsOf(key), pod, figures })))
      .take(MOST_SERVERS);
  for (const { name, type, help, value } of SERVER_FIGURES) {
    registry.computed(type, { name: `${PREFIX}_server_${name}`, help, labels: [...INSTANCE, 'pod'] }, () =>
      answers().map(
        ({ namespace = '', name: instance, pod, figures }) =>
          [{ namespace, name: instance, pod }, value(figures)] as const,
      ),
    );
  }
}

/** What the certificates say that its servers work with, as they were last read; only who reconciles reads them. */
export function certificateMetrics(
  registry: Registry,
  worlds: readonly (Pick<Seen, 'memcacheds'> & { readonly secrets: Pick<Secrets, 'lastFacts'> })[],
): void {
  registry.computed(
    'gauge',
    {
      name: `${PREFIX}_instance_certificate_expiry_timestamp_seconds`,
      help: 'When the certificate of the servers expires, in seconds since 1970; told by the operator that leads',
      labels: INSTANCE,
    },
    () =>
      worlds
        .values()
        .flatMap(({ memcacheds, secrets }) =>
          memcacheds.list().flatMap((memcached) => {
            const tls = secretReferences(memcached).find(({ use }) => use === 'tls');
            const key = `${memcached.metadata.namespace}/${tls?.name}`;
            const until = tls && secrets.lastFacts(key)?.certificate.validity?.until;
            return until === undefined ? [] : [[instanceOf(memcached), until / 1000] as const];
          }),
        )
        .take(MOST_INSTANCES),
  );
}

/** Until when the API server can ask this replica: what is told in milliseconds since 1970, if anything. */
export function webhookMetrics(registry: Registry, validUntil: () => number | undefined): void {
  registry.computed(
    'gauge',
    {
      name: `${PREFIX}_webhook_certificate_expiry_timestamp_seconds`,
      help: 'When the certificate of the webhooks expires, in seconds since 1970; told by each operator that serves them',
    },
    () => {
      const until = validUntil();
      return until === undefined ? [] : until / 1000;
    },
  );
}

function watchMetrics(registry: Registry, worlds: readonly Seen[]): void {
  registry.computed(
    'counter',
    {
      name: `${PREFIX}_watch_restarts_total`,
      help: 'Watches that had to begin anew, and why: ended (in order, as each does after some minutes), failed, expired (a new list is needed), refused, missing (the kind is not installed)',
      labels: ['kind', 'reason'],
    },
    () => endingsOf(worlds.flatMap(({ informers }) => informers)),
  );
}

/** Several informers may watch one kind, each in a namespace of its own. */
function* endingsOf(informers: readonly Pick<Informer<StoredObject>, 'kind' | 'endings'>[]) {
  for (const [kind, alike] of Map.groupBy(informers, (informer) => informer.kind.kind)) {
    const endings = Map.groupBy(
      alike.flatMap((informer) => [...informer.endings]),
      ([reason]) => reason,
    );
    for (const [reason, counts] of endings)
      yield [{ kind, reason }, counts.reduce((sum, [, count]) => sum + count, 0)] as const;
  }
}
