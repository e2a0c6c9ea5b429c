/** Processes of a control plane that die, and come back. */
import { setTimeout as sleep } from 'node:timers/promises';
import { startCluster, type TestCluster, type TestClusterOptions } from './cluster.ts';
import type { Stage } from './memcacheds.ts';
import { killHard, pidsOf } from './processes.ts';

type Part = 'etcd' | 'kube-apiserver' | 'kube-controller-manager';

export async function killOf({ instance }: TestCluster, name: Part): Promise<void> {
  const { [name]: pid } = await pidsOf(instance, [name]);
  await killHard(pid);
}

/** Starts what does not run. What it returns resolves when the API server is ready; the launcher, which waits for more, is `done` later. */
export async function healed(
  { client }: Pick<Stage, 'client'>,
  options: TestClusterOptions,
): Promise<{ readonly done: Promise<unknown> }> {
  const done = startCluster(options);
  const isReady = async () => (await client.raw('/readyz').catch(() => '')) === 'ok';
  while (!(await isReady())) await Promise.race([sleep(20), done]);
  return { done };
}
