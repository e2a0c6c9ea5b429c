/** Load that comes and goes, measured by the real metrics-server: one server becomes two, and one again. It takes two minutes, so FULL=1 asks for it. */
import { beforeAll, expect, test } from 'vitest';
import { type Memcached, memcachedKind } from '../../src/api/index.ts';
import { eventually } from '../support/cluster.ts';
import { deployed, ELSEWHERE } from '../support/deployed.ts';
import { getMemcached, isReady, memcached } from '../support/memcacheds.ts';
import { startMetricsServer } from '../support/metrics-server.ts';
import { CLIENTS_IMAGE } from '../support/token-cache.ts';

const at = deployed('test-load');

beforeAll(async () => {
  if (!ELSEWHERE) await startMetricsServer(at.cluster, new AbortController().signal);
});

/** As much as a server gets from two clients that never rest. */
const LOAD = `
import os
from pymemcache.client.base import Client
os.fork()
while True:
    try:
        client = Client("cache-0.cache.default.svc:11211", connect_timeout=5, timeout=5)
        while True:
            client.set("key", "value" * 100, noreply=False)
            client.get("key")
    except Exception as error:
        print(error)
`;

const has = (count: number) => (seen: Memcached) =>
  isReady(seen) && seen.status?.readyReplicas === count && seen.status.serverList?.length === count;

test.skipIf(ELSEWHERE)(
  'a server under load gets another one beside it, which goes when the load does',
  { timeout: 900_000 },
  async ({ signal }) => {
    const target = { type: 'Utilization', averageUtilization: 80 } as const;
    const autoscaling = {
      enabled: true,
      minReplicas: 1,
      maxReplicas: 2,
      metrics: [{ type: 'Resource' as const, resource: { name: 'cpu', target } }],
      behavior: { scaleDown: { stabilizationWindowSeconds: 0 } },
    };
    const resources = { requests: { cpu: '20m', memory: '128Mi' } };
    await at.client.create(memcachedKind, memcached('cache', { autoscaling, resources }));
    const look = () => getMemcached(at, 'cache');
    await eventually('it runs', look, has(1), signal);

    await at.kubectl([
      'run',
      'load',
      `--image=${CLIENTS_IMAGE}`,
      '--image-pull-policy=Never',
      '--',
      'python3',
      '-c',
      LOAD,
    ]);
    let since = performance.now();
    await eventually('there are two', look, has(2), signal);
    console.log(`two servers ${Math.round((performance.now() - since) / 1000)} s after the load came`);

    await at.kubectl(['delete', 'pod', 'load', '--grace-period=0', '--force']);
    since = performance.now();
    const { status } = await eventually('there is one', look, has(1), signal);
    console.log(`one server ${Math.round((performance.now() - since) / 1000)} s after it went`);
    expect(status?.serverList).toEqual(['cache-0.cache.default.svc:11211']);
  },
);
