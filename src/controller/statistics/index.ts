/** The figures of all servers, for the status of their Memcacheds and for metrics. */
import { isDeepStrictEqual } from 'node:util';
import type { Memcached, MemcachedStatus } from '../../api/index.ts';
import { SERVER_PORT } from '../../children/ports.ts';
import { keyOf } from '../../runtime/key.ts';
import type { Log } from '../../runtime/log.ts';
import type { WorkQueue } from '../../runtime/queue/work-queue.ts';
import type { ObservedPod } from '../observed.ts';
import { isReady, patienceMs } from '../report.ts';
import type { World } from '../world.ts';
import { Credentials } from './credentials.ts';
import { type Answer, Gatherer, type ServingPod } from './gatherer.ts';
import { summaryOf } from './summary.ts';

const INTERVAL_MS = 60_000;

export interface StatisticsOptions {
  readonly worlds: readonly World[];
  readonly worldOf: (key: string) => World | undefined;
  readonly queue: Pick<WorkQueue, 'add'>;
  readonly log: Log;
  readonly now: () => Date;
  /** Ends what is being read. */
  readonly signal: AbortSignal;
}

/** Asks the servers of every Memcached until it is closed, and queues those that have something new to show. */
export function gatherStatistics({ worlds, worldOf, queue, log, now, signal }: StatisticsOptions): Gatherer {
  const credentials = new Map(worlds.map((world) => [world, new Credentials(world.secrets)]));
  const podsOf = (key: string) => (worldOf(key)?.podsOf(key) ?? []).flatMap((pod) => servingPod(pod) ?? []);
  const gatherer: Gatherer = new Gatherer({
    port: SERVER_PORT.port,
    log,
    podsOf,
    async accessOf(key) {
      const world = worldOf(key);
      const memcached = world?.memcached(key);
      const access = world && memcached && credentials.get(world)?.accessTo(memcached, signal);
      if (!access) throw new Error('the Memcached is gone');
      return access;
    },
    intervalOf(key) {
      const memcached = worldOf(key)?.memcached(key);
      return memcached && podsOf(key).length > 0 ? intervalOf(memcached, now()) : INTERVAL_MS; // the first one calls by itself
    },
    onGathered(key) {
      const { status = {} } = worldOf(key)?.memcached(key) ?? {};
      if (isNews(gatherer.answersOf(key) ?? [], status)) queue.add(key, 'refresh');
    },
  });
  for (const world of worlds) {
    world.memcacheds.onChange((change) => {
      if (change.new) gatherer.follow(keyOf(change.new));
      if (change.new || !change.old) return;
      gatherer.forget(keyOf(change.old));
      credentials.get(world)?.forget(keyOf(change.old));
    });
    // It may be what we show to servers, and they need not be started anew for that.
    world.secrets.informer.onChange((change) => {
      const secret = change.new ?? change.old;
      if (secret) for (const memcached of world.namingSecret(keyOf(secret))) gatherer.retry(keyOf(memcached));
    });
    world.pods.onChange((change) => {
      const [before, after] = [change.old && servingPod(change.old), change.new && servingPod(change.new)];
      if (before && !after && change.old?.memcached !== undefined) gatherer.dismiss(change.old.memcached, before.name);
      if (after && !before && change.new?.memcached !== undefined) gatherer.hurry(change.new.memcached);
    });
  }
  return gatherer;
}

/** While something is going on, people look more often. */
export function intervalOf(memcached: Pick<Memcached, 'metadata' | 'status'>, now: Date): number {
  return isReady(memcached.status ?? {}) ? INTERVAL_MS : patienceMs(memcached, now);
}

function servingPod({ metadata: { name }, address, ...pod }: ObservedPod): ServingPod | undefined {
  return pod.isReady && !pod.isDeleting && address !== undefined ? { name, host: address } : undefined;
}

/** Whether the status shows something else. A breach is looked at each time: it ends without a change of any figure. */
function isNews(answers: readonly Answer[], status: MemcachedStatus): boolean {
  const { currentConnections, hitRatio, memcachedVersion } = status;
  const shown = { currentConnections, hitRatio, ...(memcachedVersion !== undefined && { memcachedVersion }) };
  const isBreached = status.conditions?.some(({ reason }) => reason === 'AuthNotEnforced');
  return (
    isBreached === true ||
    answers.some(({ breach }) => breach !== undefined) ||
    !isDeepStrictEqual(shown, summaryOf(answers.map(({ figures }) => figures)))
  );
}
