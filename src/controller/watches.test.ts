import { expect, test, vi } from 'vitest';
import type { Memcached } from '../api/index.ts';
import { memcachedKind } from '../api/index.ts';
import type { Kind, ObjectMeta } from '../kubernetes/object.ts';
import type { Client, WatchEvent } from '../runtime/client/index.ts';
import { watch } from './watches.ts';
import { World } from './world.ts';

const KEY = 'default/my-cache';
const nobody = { debug: () => {}, info: () => {}, error: () => {} };

function memcached(resourceVersion: string, metadata: Partial<ObjectMeta> = {}, status = {}): Memcached {
  const { apiVersion, kind } = memcachedKind;
  const identity = { name: 'my-cache', namespace: 'default', uid: 'uid-1', generation: 1 };
  return { apiVersion, kind, metadata: { ...identity, resourceVersion, ...metadata }, spec: { replicas: 2 }, status };
}

/** A world that hears of Memcacheds what it is told, and who was woken since. */
async function world() {
  const told: WatchEvent[] = [];
  let wake = () => {};
  const end = { metadata: { resourceVersion: '1', annotations: { 'k8s.io/initial-events-end': 'true' } } };
  async function* events(kind: Kind): AsyncGenerator<WatchEvent, void> {
    yield { type: 'BOOKMARK', object: end };
    if (kind !== memcachedKind) await new Promise(() => {}); // nothing happens to them
    for (;;) {
      yield* told.splice(0);
      await new Promise<void>((resolve) => (wake = resolve));
    }
  }
  const client = { watch: events } as unknown as Client;
  const seen = new World({ client, log: nobody });
  for (const informer of seen.informers) void informer.run(new AbortController().signal);
  await Promise.all(seen.informers.map(({ synced }) => synced));
  const woken: string[] = [];
  watch(seen, { add: (key, priority) => void woken.push(`${key} ${priority}`) });
  const tell = async (object: Memcached) => {
    told.push({ type: 'MODIFIED', object });
    wake();
    await vi.waitFor(() => expect(seen.memcacheds.get(KEY)?.metadata).toEqual(object.metadata));
    return woken.splice(0);
  };
  return { seen, tell };
}

test('our own status wakes nobody when the watch tells it, that of others does', async () => {
  const { seen, tell } = await world();
  expect(await tell(memcached('10'))).toEqual([`${KEY} wish`]);
  await seen.writeMemcached(KEY, async () => memcached('11', {}, { replicas: 2 }));
  expect(await tell(memcached('11', {}, { replicas: 2 }))).toEqual([]);
  expect(await tell(memcached('12', {}, { replicas: 7 }))).toEqual([`${KEY} change`]);
});

test.each<[string, Partial<ObjectMeta>]>([
  ['spec', { generation: 2 }],
  ['annotation', { annotations: { 'memcached.c5c3.io/paused': 'true' } }],
  ['deletion', { deletionTimestamp: '2026-01-01T00:00:00Z' }],
  ['identity', { uid: 'uid-2' }],
])('what others have changed before our status, unseen till then, is not lost: %s', async (_, changed) => {
  const { seen, tell } = await world();
  await tell(memcached('10'));
  await seen.writeMemcached(KEY, async () => memcached('12', changed));
  expect(await tell(memcached('12', changed))).toEqual([`${KEY} wish`]);
});

test('a spec is the same object until it changes', async () => {
  const { seen, tell } = await world();
  await tell(memcached('10'));
  const spec = seen.memcached(KEY)?.spec;
  await tell(memcached('11', {}, { replicas: 1 }));
  expect(seen.memcached(KEY)?.spec).toBe(spec);
  await seen.writeMemcached(KEY, async () => memcached('12', {}, { replicas: 2 }));
  expect(seen.memcached(KEY)?.spec).toBe(spec);
  await tell(memcached('13', { generation: 2 }));
  expect(seen.memcached(KEY)?.spec).not.toBe(spec);
});
