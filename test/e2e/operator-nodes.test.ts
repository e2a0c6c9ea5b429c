/** Two real nodes: servers are spread over them, move when one is drained, and no status says what is not so. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import type { Memcached, MemcachedSpec } from '../../src/api/index.ts';
import {
  change,
  conditions,
  createReady,
  getMemcached,
  isReady,
  memcached,
  stage,
  Trail,
  until,
} from '../support/memcacheds.ts';

const at = stage({ name: 'test-nodes-operator', form: 'real' });

afterEach(async () => {
  at.operator.assertAlive();
  await at.cluster.kubectl(['uncordon', 'node-1', 'node-2']);
});

interface PodList {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
    readonly spec: { readonly nodeName?: string; readonly containers: readonly { readonly image: string }[] };
    readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
  }[];
}

/** The pods that are not on their way out. */
async function podsOf(name: string): Promise<PodList['items']> {
  const selector = `app.kubernetes.io/instance=${name}`;
  const { items } = JSON.parse(await at.cluster.kubectl(['get', 'pods', '-l', selector, '-o', 'json'])) as PodList;
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

async function nodesOf(name: string): Promise<string[]> {
  return (await podsOf(name)).map(({ spec }) => spec.nodeName ?? '').toSorted((a, b) => (a < b ? -1 : 1));
}

const budget = (podDisruptionBudget: object): MemcachedSpec => ({
  replicas: 2,
  highAvailability: { podDisruptionBudget: { enabled: true, ...podDisruptionBudget } },
});

/** What `kubectl drain` says, whether it succeeds or not. */
function drain(node: string, seconds: number): Promise<string> {
  return at.cluster.kubectl(['drain', node, '--ignore-daemonsets', '--force', `--timeout=${seconds}s`]).then(
    (said) => said,
    (error: unknown) => `failed: ${String(error)}`,
  );
}

test('hard anti-affinity: an image change completes with a server on each node', async ({ signal }) => {
  const spec: MemcachedSpec = {
    replicas: 2,
    image: 'memcached:1.6.18',
    highAvailability: { antiAffinityPreset: 'hard' },
  };
  await createReady(at, memcached('hard', spec), signal);
  expect(await nodesOf('hard')).toEqual(['node-1', 'node-2']);
  const trail = await Trail.begin(at, 'hard', signal);
  await change(at, 'hard', { spec: { image: 'memcached:1.6' } });
  const { ms } = await until(at, 'rolled out', () => getMemcached(at, 'hard'), isReady, signal, 240_000);
  console.log(`rolled out in ${Math.round(ms)} ms: ${(await trail.end(signal)).join(' ')}`);
  expect(await nodesOf('hard')).toEqual(['node-1', 'node-2']);
  const images = (await podsOf('hard')).map(({ spec: { containers } }) => containers[0]?.image);
  expect(images).toEqual(['memcached:1.6', 'memcached:1.6']);
});

test('soft anti-affinity spreads, and yet a third finds a place', async ({ signal }) => {
  await createReady(at, memcached('soft', { replicas: 2 }), signal);
  expect(await nodesOf('soft')).toEqual(['node-1', 'node-2']);
  await change(at, 'soft', { spec: { replicas: 3 } });
  await until(at, 'all three serve', () => getMemcached(at, 'soft'), isReady, signal, 240_000);
  expect(new Set(await nodesOf('soft'))).toEqual(new Set(['node-1', 'node-2']));
});

test('a drain respects the budget, and completes', async ({ signal }) => {
  await createReady(at, memcached('drained', budget({ minAvailable: 1 })), signal);
  const counts: number[] = [];
  const stop = new AbortController();
  const counting = (async () => {
    for (; !stop.signal.aborted; await sleep(200))
      counts.push((await getMemcached(at, 'drained')).status?.readyReplicas ?? 0);
  })();
  const start = performance.now();
  const said = await drain('node-1', 180);
  console.log(`drained in ${Math.round(performance.now() - start)} ms`);
  expect(said).toContain('node/node-1 drained');
  const { ms } = await until(at, 'ready again', () => getMemcached(at, 'drained'), isReady, signal, 240_000);
  stop.abort();
  await counting;
  console.log(
    `ready ${Math.round(ms)} ms later; servers that were ready: ${counts.filter((count, index) => count !== counts[index - 1]).join(' ')}`,
  );
  expect(Math.min(...counts)).toBeGreaterThanOrEqual(1);
  expect(await nodesOf('drained')).toEqual(['node-2', 'node-2']);
});

test('a drain that the budget forbids waits, and the status stays true', async ({ signal }) => {
  await createReady(at, memcached('kept', budget({ maxUnavailable: 0 })), signal);
  const before = await podsOf('kept');
  const trail = await Trail.begin(at, 'kept', signal);
  const said = await drain('node-1', 20);
  expect(said).toContain("would violate the pod's disruption budget");
  const seen = await getMemcached(at, 'kept');
  expect((await podsOf('kept')).map(({ metadata }) => metadata.name)).toEqual(
    before.map(({ metadata }) => metadata.name),
  );
  expect(conditions(seen)).toEqual({
    Available: 'True/DeploymentAvailable',
    Progressing: 'False/DeploymentComplete',
    Degraded: 'False/AllReplicasReady',
    Ready: 'True/AllReplicasReady',
  });
  expect(await trail.end(signal)).toHaveLength(4); // each condition once

  const waiting = drain('node-1', 180);
  await change(at, 'kept', { spec: { highAvailability: { podDisruptionBudget: { maxUnavailable: 1 } } } });
  expect(await waiting).toContain('node/node-1 drained');
  const isMoved = (now: Memcached) => isReady(now);
  await until(at, 'ready again', () => getMemcached(at, 'kept'), isMoved, signal, 240_000);
  expect(await nodesOf('kept')).toEqual(['node-2', 'node-2']);
});
