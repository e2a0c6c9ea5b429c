/** How much of the machine was taken by others while something was measured: what was measured then says little. */
import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Instance } from '../devcluster/instance.ts';
import { processesOf } from '../test/support/processes.ts';
import { MS_PER_TICK, usageOf } from './process-usage.ts';

/** An idle control plane with some nodes takes less. */
const CALM_CPU_MS_PER_S = 300;
const CALM_S = 3;
const CALM_WITHIN_S = 120;

export class Machine {
  readonly #cluster: readonly number[];

  private constructor(cluster: readonly number[]) {
    this.#cluster = cluster;
  }

  /** Other processes may belong to the cluster. */
  static async of(instance: Instance, others: readonly number[]): Promise<Machine> {
    const lines = await processesOf(instance, []);
    return new Machine([...lines.map((line) => Number.parseInt(line, 10)), ...others]);
  }

  /** Waits until the cluster has done what there was to do, so that nobody pays for what came before. */
  async calm(signal: AbortSignal): Promise<void> {
    let before = await cpuMs(this.#cluster);
    for (let idle = 0, waited = 0; idle < CALM_S && waited < CALM_WITHIN_S; waited += 1) {
      await sleep(1000, undefined, { signal });
      const now = await cpuMs(this.#cluster);
      idle = now - before <= CALM_CPU_MS_PER_S ? idle + 1 : 0;
      before = now;
    }
  }

  /** Does the work, and tells which part of all CPUs others had meanwhile, from 0 to 1. Processes that it starts may be added. */
  async during<T>(pids: readonly number[], work: () => Promise<T>): Promise<[T, number]> {
    const oursMs = () => cpuMs([...this.#cluster, process.pid, ...pids]);
    const since = performance.now();
    const [busyBefore, oursBefore] = [await busyMs(), await oursMs()];
    const result = await work();
    const others = (await busyMs()) - busyBefore - ((await oursMs()) - oursBefore);
    return [result, Math.max(0, others / (performance.now() - since) / availableParallelism())];
  }
}

async function cpuMs(pids: readonly number[]): Promise<number> {
  let sum = 0;
  for (const pid of pids) sum += (await usageOf(pid).catch(() => ({ cpuMs: 0 }))).cpuMs;
  return sum;
}

/** What all processes together have computed since the machine was started. */
async function busyMs(): Promise<number> {
  const [line = ''] = (await readFile('/proc/stat', 'utf8')).split('\n');
  // What a hypervisor gave to somebody else is as lost to us as what another process took.
  const [user = 0, nice = 0, system = 0, _idle, _iowait, irq = 0, softirq = 0, steal = 0] = line
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq + steal) * MS_PER_TICK;
}
