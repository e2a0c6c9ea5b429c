/** Which change wakes which Memcached. */
import { isDeepStrictEqual } from 'node:util';
import type { Memcached } from '../api/index.ts';
import { keyOf } from '../runtime/key.ts';
import type { WorkQueue } from '../runtime/queue/work-queue.ts';
import type { ObservedChild, ObservedPod } from './observed.ts';
import type { World } from './world.ts';

/** Queues the name of a Memcached whenever something about it has changed that a reconcile would read. */
export function watch(world: World, queue: Pick<WorkQueue, 'add'>): void {
  world.memcacheds.onChange((change) => {
    const memcached = change.new ?? change.old;
    const wantsTheSame = isSameWish(change);
    const isEcho = wantsTheSame && change.new && world.isOwnWrite(keyOf(change.new), change.new);
    if (memcached && !isEcho) queue.add(keyOf(memcached), wantsTheSame ? 'change' : 'wish');
  });
  world.secrets.informer.onChange((change) => {
    const secret = change.new ?? change.old;
    if (secret) for (const memcached of world.namingSecret(keyOf(secret))) queue.add(keyOf(memcached));
  });
  for (const informer of world.children.values()) {
    informer.onPresence(() => {
      for (const memcached of world.memcacheds.list()) queue.add(keyOf(memcached)); // a kind has come or gone
    });
    informer.onChange((change) => {
      const child = change.new ?? change.old;
      // A child has the name of its Memcached; one that is somebody else's is in the way of the Memcached of that name.
      if (child && isNews(change)) wake(queue, [keyOf(child), change.old?.memcached, change.new?.memcached]);
    });
  }
  world.pods.onChange((change) => {
    if (isNews(change)) wake(queue, [change.old?.memcached, change.new?.memcached]);
  });
}

/** Whether nothing but the status can be another: what users have changed may come with it, unseen till then. */
function isSameWish({ old, new: now }: MemcachedChange): boolean {
  if (!old || !now) return false;
  const readOf = ({ metadata: { uid, generation, annotations, deletionTimestamp } }: Memcached) => [
    uid,
    generation,
    annotations,
    deletionTimestamp,
  ];
  return isDeepStrictEqual(readOf(old), readOf(now));
}

function wake(queue: Pick<WorkQueue, 'add'>, keys: readonly (string | undefined)[]): void {
  for (const key of new Set(keys)) if (key !== undefined) queue.add(key);
}

interface MemcachedChange {
  readonly old?: Memcached | undefined;
  readonly new?: Memcached | undefined;
}

interface Change {
  readonly old?: ObservedChild | ObservedPod | undefined;
  readonly new?: ObservedChild | ObservedPod | undefined;
}

function isNews(change: Change): boolean {
  return !isDeepStrictEqual(withoutVersion(change.old), withoutVersion(change.new));
}

/** Without what changes with things that nobody reads. */
function withoutVersion(observed: ObservedChild | ObservedPod | undefined): unknown {
  if (!observed) return undefined;
  const deployment = 'deployment' in observed && { deployment: { ...observed.deployment, basis: undefined } };
  return { ...observed, metadata: observed.metadata.uid, ...deployment };
}
