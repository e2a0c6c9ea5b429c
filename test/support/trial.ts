/** An operator that is put to the test: so many changes in bad times, and how long it takes to make up for them. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Churn, Unfinished } from './churn.ts';
import { type Stage, until } from './memcacheds.ts';
import { freePort, Operator } from './operator.ts';
import { type Figures, figuresOf, inspectable } from './process-figures.ts';

export interface Recovery {
  /** Until all that is the operator's to do was done. */
  readonly operatorMs: number;
  /** Until the rest of Kubernetes had done its part too. */
  readonly allMs: number;
}

/** Kubernetes takes seconds for its part, and half a minute after an outage. What it has not done after this time, it has forgotten. */
const FORGOTTEN_MS = 90_000;

/** Waits, from now on, until the cluster is what the Memcacheds say. The rest of Kubernetes may be reminded of its part, once. */
export async function recovery(
  at: Pick<Stage, 'operator'>,
  churn: Churn,
  signal: AbortSignal,
  remind?: (forgotten: readonly string[]) => Promise<void>,
): Promise<Recovery> {
  const since = performance.now();
  let operatorMs: number | undefined;
  let reminder = remind;
  const look = async () => {
    const unfinished = await churn.unfinished();
    if (unfinished.ours.length > 0) operatorMs = undefined;
    else operatorMs ??= performance.now() - since;
    const isLate = operatorMs !== undefined && performance.now() - since > operatorMs + FORGOTTEN_MS;
    if (isLate && unfinished.theirs.length > 0) {
      await reminder?.(unfinished.theirs);
      reminder = undefined;
    }
    if (!isFinished(unfinished)) await sleep(100);
    return unfinished;
  };
  const { ms } = await until(at, 'all is as it should be', look, isFinished, signal);
  return { operatorMs: operatorMs ?? ms, allMs: ms };
}

function isFinished({ ours, theirs }: Unfinished): boolean {
  return ours.length === 0 && theirs.length === 0;
}

export const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

/** An operator whose memory can be looked at. */
export interface Patient {
  readonly operator: Operator;
  figures(): Promise<Figures>;
}

export async function admit(
  kubeconfig: string,
  signal: AbortSignal,
  flags: readonly string[] = [],
  nodeFlags: readonly string[] = [],
): Promise<Patient> {
  const port = await freePort();
  const operator = await Operator.start(kubeconfig, signal, flags, [...inspectable(port), ...nodeFlags]);
  return { operator, figures: () => figuresOf(operator.pid, port) };
}
