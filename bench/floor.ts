/** The floor: what a bare client needs that knows what to do and does nothing else. */
import { spawn } from 'node:child_process';
import { type Memcached, withDefaults } from '../src/api/index.ts';
import { children } from '../src/children/index.ts';
import { withFirstReplicas } from '../src/controller/replicas.ts';
import type { Kind } from '../src/kubernetes/object.ts';
import type { Client } from '../src/runtime/client/index.ts';
import { createCrowd, inParallel } from './crowd.ts';
import { usageOf } from './process-usage.ts';
import { say, timed } from './progress.ts';
import type { Site } from './site.ts';

export interface Floor {
  /** For the Memcacheds themselves. */
  readonly memcachedsMs: number;
  /** For all their children. */
  readonly childrenMs: number;
  /** For the children of one Memcached. */
  readonly cpuMs: number;
  /** What others had of the machine meanwhile, from 0 to 1. */
  readonly others: number;
}

export const configMapKind: Kind = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true };

const namespaceKind: Kind = { apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false };

/** Before the floor is measured, so that it is not the one who finds everything cold. */
const WARM_UP = 16;

/** Makes Memcacheds, then their children as the operator would, on a cluster that knows no operator. */
export async function measureFloor({ client, machine }: Site, count: number, signal: AbortSignal): Promise<Floor> {
  await createAll(client, 'bench-warm-up', WARM_UP, signal);
  await timed('until the cluster is calm', machine.calm(signal));
  const [times, others] = await machine.during([], () => createAll(client, 'bench-floor', count, signal));
  return { ...times, others };
}

async function createAll(client: Client, namespace: string, count: number, signal: AbortSignal) {
  await createNamespace(client, namespace, signal);
  const [memcacheds, memcachedsMs] = await timed(
    `the bare client creates ${count} Memcacheds`,
    createCrowd(client, namespace, count, signal),
  );
  const cpuBefore = process.cpuUsage();
  const [, childrenMs] = await timed('the bare client creates their children', createChildren(client, memcacheds));
  const { user, system } = process.cpuUsage(cpuBefore);
  return { memcachedsMs, childrenMs, cpuMs: (user + system) / 1000 / count };
}

async function createChildren(client: Client, memcacheds: readonly Memcached[]): Promise<void> {
  await inParallel(memcacheds, async (memcached) => {
    const wanted = withDefaults(memcached);
    for (const { kind, build } of children) {
      const child = build(wanted, {});
      if (!child) continue;
      await client.apply(kind, withFirstReplicas(child, wanted), { fieldManager: 'bench-floor', force: true });
    }
  });
}

export async function createNamespace(client: Client, name: string, signal: AbortSignal): Promise<void> {
  await client.create(namespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }, { signal });
}

/** The memory of a Node that does nothing. */
export async function measureBareNode(): Promise<number> {
  const child = spawn(process.execPath, ['-e', 'console.log(1); setInterval(() => {}, 1000)'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const { residentMB } = await usageOf(child.pid ?? 0);
    say(`a Node that does nothing takes ${residentMB.toFixed(0)} MB`);
    return residentMB;
  } finally {
    child.kill('SIGKILL');
  }
}
