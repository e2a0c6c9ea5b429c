/** A crowd arrives, all at once: until every child is there, until all are ready, and what that costs. */
import { memcachedKind, withDefaults } from '../../src/api/index.ts';
import { children } from '../../src/children/index.ts';
import { isWrite } from '../../test/support/audit.ts';
import { bySort } from '../audit.ts';
import { Counter, createCrowd, isReady, memcachedNamed } from '../crowd.ts';
import { createNamespace, type Floor } from '../floor.ts';
import { timed } from '../progress.ts';
import { type Row, rowsFor } from '../rows.ts';
import type { Scene } from '../scenario.ts';
import { rested, settled } from '../settling.ts';
import { greatestOf, mean, meansOf } from '../statistics.ts';

export interface Convergence {
  readonly count: number;
  readonly floor: Floor;
  /** From the first request for a Memcached to the answer to the last. */
  readonly createdMs: number;
  readonly childrenMs: number;
  readonly readyMs: number;
  readonly requests: number;
  readonly writes: number;
  /** Requests that the server did not carry out. */
  readonly refused: number;
  readonly bySort: Readonly<Record<string, number>>;
  /** By the operator's own count. */
  readonly reconciles: number;
  /** For how long one of them waited for a worker, or for its turn, on average. */
  readonly queuedMs: number;
  readonly cpuMs: number;
  /** CPU in the time after that, in which connections to the servers are made that are kept. */
  readonly restMs: number;
  readonly emptyMB: number;
  readonly peakMB: number;
  readonly settledMB: number;
  /** The peak, when the page of metrics has been read as well. */
  readonly scrapedPeakMB: number;
  readonly fileMB: number;
  /** What others had of the machine meanwhile, from 0 to 1. */
  readonly others: number;
}

const QUEUED = 'workqueue_queue_duration_seconds';

/** The children that each of the Memcacheds wants, whatever becomes of its pods: the bare client makes the same. */
function childrenOfEach(namespace: string) {
  const { metadata, ...one } = memcachedNamed('any', namespace);
  const wanted = withDefaults({ ...one, metadata: { ...metadata, uid: 'any' } });
  return children.filter(({ build }) => build(wanted, {}) !== undefined);
}

/** Creates the Memcacheds and waits until all is done. */
export async function converge({ site, operator, ...scene }: Scene, floor: Floor): Promise<Convergence> {
  const { audit, machine } = site;
  const { count } = scene;
  await settled(operator, audit, scene.signal);
  const before = await operator.usage();
  const [times, others] = await machine.during([operator.pid], () => arrival({ site, operator, ...scene }));
  const requests = await settled(operator, audit, scene.signal);
  const { cpuMs } = await operator.usage();
  await rested(scene.signal);
  const { residentMB: settledMB, peakMB, fileMB, cpuMs: cpuRestedMs } = await operator.usage();
  const metric = await site.metricsOf(operator); // after all that is judged: it takes memory and CPU, too
  const { peakMB: scrapedPeakMB } = await operator.usage();
  return {
    count,
    floor,
    ...times,
    requests: requests.length,
    writes: requests.filter(isWrite).length,
    refused: requests.filter(({ code }) => code >= 400).length,
    bySort: bySort(requests),
    reconciles: metric('controller_runtime_reconcile_total'),
    queuedMs: (1000 * metric(`${QUEUED}_sum`)) / metric(`${QUEUED}_count`),
    cpuMs: cpuMs - before.cpuMs,
    restMs: cpuRestedMs - cpuMs,
    emptyMB: before.residentMB,
    peakMB,
    settledMB,
    scrapedPeakMB,
    fileMB,
    others,
  };
}

async function arrival({ site: { client }, operator, namespace, count, ...scene }: Scene) {
  const ended = new AbortController();
  const signal = AbortSignal.any([scene.signal, operator.lost, ended.signal]);
  await createNamespace(client, namespace, signal);
  const ofSpec = childrenOfEach(namespace);
  const kinds = ofSpec.map(({ kind }) => new Counter({ client, namespace, kind }, signal));
  const ready = new Counter({ client, namespace, kind: memcachedKind, counts: isReady }, signal);
  await Promise.all([ready, ...kinds].map((counter) => counter.synced));
  const since = performance.now();
  const after = async (work: Promise<unknown>): Promise<number> => {
    await work;
    return performance.now() - since;
  };
  const times = Promise.all([
    after(createCrowd(client, namespace, count, signal)),
    after(Promise.all(kinds.map((counter) => counter.until(count, signal)))),
    after(ready.until(count, signal)),
  ]);
  const state = () =>
    `${kinds.map((counter, index) => `${counter.count} ${ofSpec[index]?.kind.plural}`).join(', ')}, ${ready.count} ready`;
  const [[createdMs, childrenMs, readyMs]] = await timed(`${count} Memcacheds for the operator`, times, state);
  ended.abort();
  return { createdMs, childrenMs, readyMs };
}

/** Several crowds of one size as one: the mean of what they took, and the most memory. */
export function together(crowds: readonly Convergence[]): Convergence {
  const [first] = crowds;
  if (!first) throw new TypeError('there is no crowd');
  const floors = crowds.map(({ floor }) => floor);
  const counts = crowds.map((crowd) => crowd.bySort);
  const sorts = new Set(counts.flatMap(Object.keys));
  return {
    ...first,
    ...meansOf(crowds, [
      'createdMs',
      'childrenMs',
      'readyMs',
      'requests',
      'writes',
      'reconciles',
      'queuedMs',
      'cpuMs',
      'restMs',
    ]),
    ...greatestOf(crowds, ['refused', 'emptyMB', 'peakMB', 'settledMB', 'scrapedPeakMB', 'fileMB', 'others']),
    floor: {
      ...meansOf(floors, ['memcachedsMs', 'childrenMs', 'cpuMs']),
      ...greatestOf(floors, ['others']),
    },
    bySort: Object.fromEntries([...sorts].map((sort) => [sort, mean(counts.map((one) => one[sort] ?? 0))])),
  };
}

/** `reference` is the crowd that budgets speak of, if it has come already: of larger ones, each Memcached may cost little more. */
export function rowsOf(crowd: Convergence, reference: Convergence | undefined, bareNodeMB: number): Row[] {
  const row = rowsFor(`converge, N = ${crowd.count}`);
  const { count, floor, others } = crowd;
  const isReference = crowd.count === reference?.count;
  const most = (budget: number) => (isReference ? { most: budget } : {});
  const cpuMs = crowd.cpuMs / count;
  return [
    row('all children exist, s', crowd.childrenMs / 1000, {
      reference: floor.childrenMs / 1000,
      others: Math.max(others, floor.others),
      ...(isReference && { ratio: 1.5 }),
    }),
    row('  beside Memcacheds and children by the bare client, s', crowd.childrenMs / 1000, {
      reference: (floor.childrenMs + floor.memcachedsMs) / 1000,
    }),
    row('all Memcacheds ready, s', crowd.readyMs / 1000),
    row('API writes per Memcached', crowd.writes / count, most(12)),
    row('API requests per Memcached', crowd.requests / count),
    row('requests refused', crowd.refused),
    row('reconciles per Memcached', crowd.reconciles / count),
    row('  each waited for a worker or its turn, s', crowd.queuedMs / 1000),
    row('CPU per Memcached, ms', cpuMs, { reference: floor.cpuMs, others, ...most(20) }),
    row('  while connections are made that are kept, ms', crowd.restMs / count),
    ...(reference && crowd.count > reference.count
      ? [
          row('  beside the reference crowd, ms', cpuMs, {
            reference: reference.cpuMs / reference.count,
            ratio: 1.2,
            others,
          }),
        ]
      : []),
    row('memory at its peak, MB', crowd.peakMB, { reference: bareNodeMB, ...most(90) }),
    row('  and when the page of its metrics has been read, MB', crowd.scrapedPeakMB, { reference: bareNodeMB }),
    row('memory when settled, MB', crowd.settledMB, { reference: bareNodeMB }),
    row("  of it pages of Node's own file, MB", crowd.fileMB),
    row('memory without Memcacheds, MB', crowd.emptyMB, { reference: bareNodeMB }),
    row('other programs had of the machine, %', 100 * others),
  ];
}
