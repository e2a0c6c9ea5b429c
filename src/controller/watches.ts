/** Which change wakes which Memcached. */
import { isDeepStrictEqual } from 'node:util';
import { keyOf } from '../runtime/key.ts';
import type { WorkQueue } from '../runtime/queue/work-queue.ts';
import type { ObservedChild, ObservedPod } from './observed.ts';
import type { World } from './world.ts';

/** Queues the name of a Memcached whenever something about it has changed that a reconcile would read. */
export function watch(world: World, queue: Pick<WorkQueue, 'add'>): void {
  world.memcacheds.onChange((change) => {
    const memcached = change.new ?? change.old;
    if (memcached) queue.add(keyOf(memcached));
  });
  for (const informer of [...world.children.values(), world.pods]) {
    informer.onChange(
      (change: { readonly old?: ObservedChild | ObservedPod; readonly new?: ObservedChild | ObservedPod }) => {
        if (isDeepStrictEqual(withoutVersion(change.old), withoutVersion(change.new))) return;
        // Somebody may have made it another's: both have to know.
        const concerned = new Set([change.old?.memcached, change.new?.memcached]);
        for (const key of concerned) if (key !== undefined) queue.add(key);
      },
    );
  }
}

function withoutVersion(observed: ObservedChild | ObservedPod | undefined): unknown {
  return observed && { ...observed, metadata: observed.metadata.uid };
}
