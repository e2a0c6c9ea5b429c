/** The launcher with two real nodes: healed, beside another cluster of the same kind, and gone without a trace. */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { placeOf } from '../../devcluster/instance.ts';
import { eventually, ROOT, startCluster, stopCluster, type TestCluster } from '../support/cluster.ts';
import { launcher } from '../support/command-line.ts';
import { apply, areDropped, areServed, ask, askAll, get, memcachedPods, startPods } from '../support/pods.ts';
import {
  keptNamespacesOf,
  killHard,
  namespacesOf,
  pidsOf,
  pinnedNamespaces,
  processesOf,
} from '../support/processes.ts';
import { changesSince, type MachineState, machineState } from '../support/traces.ts';

const REAL = { name: 'test-healing', form: 'real' } as const;
const BESIDE = { name: 'test-healing-2', form: 'real' } as const;
const OF_THE_NODES = ['kubelet-1', 'containerd-1', 'coredns', 'kube-proxy', 'kube-network-policies'];
const OTHERS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet-2', 'containerd-2'];
const OWN = [...OF_THE_NODES, ...OTHERS];

let cluster: TestCluster;
let before: MachineState;

beforeAll(async () => {
  await stopCluster(REAL);
  await stopCluster(BESIDE);
  before = await machineState();
  // The first start is killed while it makes the nodes: everything below is healed from that, too.
  const fatalFile = path.join(placeOf(ROOT, REAL.name).runDirectory, 'mounts/node-2');
  await launcher(['up', '--name', REAL.name], { fatalFile });
  cluster = await startCluster(REAL);
  await startPods(cluster);
});

afterAll(async () => {
  await stopCluster(BESIDE);
  await stopCluster(REAL);
});

/** What runs in pods: who they are tells whether somebody has restarted them. */
async function memcachedPids(): Promise<string[]> {
  const lines = await processesOf(cluster.instance, await namespacesOf(cluster.instance));
  return lines.filter((line) => / memcached -m 64 /.test(line)).toSorted();
}

test.for(OF_THE_NODES)('heals after kill -9 of %s, and nothing else notices', async (name, { signal }) => {
  await apply(cluster, 'policy.yaml');
  await eventually('the stranger is dropped', () => askAll(cluster, 'stranger'), areDropped, signal);
  const pods = await memcachedPids();
  expect(pods).toHaveLength(3);
  const { [name]: killed, ...untouched } = await pidsOf(cluster.instance, OWN);
  expect(Object.values(untouched)).not.toContain('');
  await killHard(killed);
  await startCluster({ ...REAL, signal });
  const { [name]: restarted, ...others } = await pidsOf(cluster.instance, OWN);
  expect(restarted).toMatch(/^\d+$/);
  expect(restarted).not.toBe(killed);
  expect(others).toEqual(untouched);
  expect(await memcachedPids()).toEqual(pods);
  // A kubelet that was restarted knows its pods a moment after it is Ready.
  const byName = () => ask(cluster, 'friend', 'memcached.default.svc.cluster.local');
  await eventually('the friend is served by name', byName, (answer) => answer.startsWith('VERSION 1.6'), signal);
  await eventually('the friend is served by all', () => askAll(cluster, 'friend'), areServed, signal);
  await eventually('the stranger is still dropped', () => askAll(cluster, 'stranger'), areDropped, signal);
});

test('a second cluster with nodes runs beside it, and neither notices the other', async ({ signal }) => {
  const state = await machineState();
  const [own, pods] = [await pidsOf(cluster.instance, OWN), await memcachedPids()];
  const other = await startCluster({ ...BESIDE, signal });
  await startPods(other);
  expect(await askAll(cluster, 'friend')).toSatisfy(areServed);
  expect(await askAll(other, 'friend')).toSatisfy(areServed);
  for (const each of [cluster, other]) {
    const { block } = each.instance;
    const addresses = (await memcachedPods(each)).map(({ ip }) => ip.split('.').slice(0, 2).join('.'));
    expect(addresses).toEqual([`10.${block}`, `10.${block}`]);
  }
  expect(other.instance.block).not.toBe(cluster.instance.block);
  const namespaces = await keptNamespacesOf(other.instance);
  await stopCluster(BESIDE);
  expect(await processesOf(other.instance, namespaces)).toEqual([]);
  expect(await pidsOf(cluster.instance, OWN)).toEqual(own);
  expect(await memcachedPids()).toEqual(pods);
  expect(await changesSince(state, [cluster.instance, other.instance])).toEqual([]);
  expect(await askAll(cluster, 'friend')).toSatisfy(areServed);
});

test('heals after kill -9 of everything that runs in it', async ({ signal }) => {
  const victims = await processesOf(cluster.instance, await namespacesOf(cluster.instance));
  expect(victims.length).toBeGreaterThan(20); // the cluster's own, the shims, and what the pods run
  await Promise.all(victims.map((line) => killHard(line.split(' ')[0])));
  await startCluster({ ...REAL, signal });
  await eventually('both memcached pods answer again', () => askAll(cluster, 'friend'), areServed, signal);
  const ready = await get(cluster, 'nodes', '{.items[*].status.conditions[?(@.type=="Ready")].status}');
  expect(ready).toBe('True True');
});

test('removed, it leaves nothing', async () => {
  const namespaces = await keptNamespacesOf(cluster.instance);
  expect(namespaces.length).toBeGreaterThanOrEqual(3);
  expect(await stopCluster(REAL)).toBe(true);
  expect(await processesOf(cluster.instance, namespaces)).toEqual([]);
  expect(await pinnedNamespaces(namespaces)).toEqual([]);
  expect(await changesSince(before, [cluster.instance])).toEqual([]);
  await expect(stat(cluster.instance.directory)).rejects.toThrow('ENOENT');
});
