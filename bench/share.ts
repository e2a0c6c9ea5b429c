/** What the operator takes of a core while something goes on. */
import type { Usage } from './process-usage.ts';
import { timed } from './progress.ts';
import type { Scene } from './scenario.ts';

export interface Share {
  readonly cpuMs: number;
  readonly percent: number;
  /** Which part of the machine others had meanwhile, from 0 to 1. */
  readonly others: number;
  readonly after: Usage;
}

export async function shareDuring(
  { site: { machine }, operator }: Scene,
  what: string,
  work: () => Promise<unknown>,
): Promise<Share> {
  const before = await operator.usage();
  const [[, ms], others] = await machine.during([operator.pid], () => timed(what, work()));
  const after = await operator.usage();
  const cpuMs = after.cpuMs - before.cpuMs;
  return { cpuMs, percent: (100 * cpuMs) / ms, others, after };
}
