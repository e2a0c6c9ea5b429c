/** The workers: they take names from the queue, have them reconciled, and see to it that what failed is tried again. */
import { randomUUID } from 'node:crypto';
import { longestWaitMs } from './client/index.ts';
import { type Clock, systemClock } from './clock.ts';
import { partsOf } from './key.ts';
import type { Log } from './log.ts';
import type { Priority, WorkQueue } from './queue/work-queue.ts';

export interface Result {
  /** When to look again although nothing has changed. */
  readonly requeueAfterMs?: number;
  /** What was left undone makes much work for others: it is called again when that may begin. */
  readonly isBurden?: true;
}

export interface ReconcileContext {
  /** The same in everything that this reconcile logs. */
  readonly reconcileId: string;
  /** As what it was waiting. */
  readonly priority: Priority;
  /** Whether others wait for this worker who want something new: what need not be done at once can come after them. */
  readonly othersWait: () => boolean;
  /** Aborted when the operator has to stop and the time of grace is over. */
  readonly signal: AbortSignal;
}

/** With nothing to say about the next time, it returns nothing. */
export type Reconcile = (key: string, context: ReconcileContext) => Promise<Result | void>;

export type Outcome = 'success' | 'requeue' | 'error';

export interface WorkersOptions {
  /** The name under which they log. */
  readonly controller: string;
  readonly queue: WorkQueue;
  readonly concurrency: number;
  readonly reconcile: Reconcile;
  readonly log: Log;
  /** Ends it all: nothing new is begun, and what runs gets some more time. */
  readonly signal: AbortSignal;
  readonly graceMs?: number;
  /** For metrics. */
  readonly onReconciled?: (outcome: Outcome, durationMs: number) => void;
  readonly clock?: Clock;
  readonly newId?: () => string;
}

const GRACE_MS = 15_000;

/** Resolves when the signal was given and the last running reconcile is finished. Never rejects. */
export async function runWorkers(options: WorkersOptions): Promise<void> {
  const { queue, concurrency, signal, graceMs = GRACE_MS, clock = systemClock } = options;
  const late = new AbortController();
  let endGrace = () => {};
  const stop = () => {
    queue.shutDown();
    endGrace = clock.after(graceMs, () => late.abort());
  };
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  await Promise.all(Array.from({ length: concurrency }, () => work(options, late.signal)));
  signal.removeEventListener('abort', stop);
  endGrace();
}

async function work(options: WorkersOptions, signal: AbortSignal): Promise<void> {
  const { queue, onReconciled, clock = systemClock, newId = randomUUID } = options;
  for (let task = await queue.take(); task !== undefined; task = await queue.take()) {
    const { key, priority } = task;
    const since = clock.now();
    const othersWait = () => queue.wishes > 0 || (priority === 'burden' && queue.burdens > 0);
    const context = { reconcileId: newId(), priority, othersWait, signal };
    const outcome = await reconcileOnce(key, options, context);
    onReconciled?.(outcome, clock.now() - since);
    queue.done(key);
  }
}

async function reconcileOnce(key: string, options: WorkersOptions, context: ReconcileContext): Promise<Outcome> {
  const { controller, queue, reconcile, log } = options;
  try {
    const result = await reconcile(key, context);
    if (result?.isBurden) queue.add(key, 'burden');
    else queue.forget(key); // only now: what failed may have been the burden
    if (result?.requeueAfterMs === undefined) return 'success';
    queue.addAfter(key, result.requeueAfterMs, 'refresh');
    return 'requeue';
  } catch (error) {
    const retryInMs = queue.retry(key, longestWaitMs(error));
    const fields = { controller, ...partsOf(key), reconcileId: context.reconcileId };
    if (context.signal.aborted) log.info('reconcile broken off', fields);
    else log.error('reconcile failed', { ...fields, error, retryInMs: Math.round(retryInMs) });
    return 'error';
  }
}
