/** What a controller and its queue are doing, under the names that dashboards know from other controllers. */
import type { Outcome } from '../controller.ts';
import type { QueueHooks, WorkQueue } from '../queue/work-queue.ts';
import type { Registry } from './registry.ts';

/** The names that other controllers have for it. */
const RESULTS: Readonly<Record<Outcome, string>> = { success: 'success', requeue: 'requeue_after', error: 'error' };

const RECONCILE_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const QUEUE_SECONDS = [0.001, 0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 300];

export interface ControllerMetrics {
  readonly hooks: Required<QueueHooks>;
  readonly onReconciled: (outcome: Outcome, durationMs: number) => void;
  /** From now on the state of this queue is shown. */
  readonly show: (queue: QueueState) => void;
}

type QueueState = Pick<WorkQueue, 'length' | 'running' | 'unfinishedMs' | 'longestRunningMs'>;

const NO_QUEUE: QueueState = { length: 0, running: 0, unfinishedMs: 0, longestRunningMs: 0 };

export function controllerMetrics(registry: Registry, controller: string, concurrency: number): ControllerMetrics {
  let queue = NO_QUEUE;
  const onReconciled = reconcileMetrics(registry, controller, concurrency, () => queue.running);
  const hooks = queueMetrics(registry, controller, () => queue);
  return {
    hooks,
    onReconciled,
    show: (shown) => {
      queue = shown;
    },
  };
}

function reconcileMetrics(registry: Registry, controller: string, concurrency: number, running: () => number) {
  const labels = ['controller'] as const;
  const reconciles = registry.counter({
    name: 'controller_runtime_reconcile_total',
    help: 'Reconciles, and how they ended: success, requeue_after (it is looked at again after a while) or error',
    labels: ['controller', 'result'],
  });
  const errors = registry.counter({
    name: 'controller_runtime_reconcile_errors_total',
    help: 'Reconciles that failed and are tried again',
    labels,
  });
  const seconds = registry.histogram(
    { name: 'controller_runtime_reconcile_time_seconds', help: 'Time that a reconcile took', labels },
    RECONCILE_SECONDS,
  );
  registry.computed(
    'gauge',
    { name: 'controller_runtime_max_concurrent_reconciles', help: 'Reconciles that may run at once', labels },
    () => [[{ controller }, concurrency]],
  );
  registry.computed(
    'gauge',
    { name: 'controller_runtime_active_workers', help: 'Reconciles that are running', labels },
    () => [[{ controller }, running()]],
  );
  for (const result of Object.values(RESULTS)) reconciles({ controller, result }, 0); // what has not happened is 0, not absent
  errors({ controller }, 0);
  return (outcome: Outcome, durationMs: number) => {
    reconciles({ controller, result: RESULTS[outcome] });
    if (outcome === 'error') errors({ controller });
    seconds({ controller }, durationMs / 1000);
  };
}

function queueMetrics(registry: Registry, controller: string, state: () => QueueState): Required<QueueHooks> {
  const labels = ['name', 'controller'] as const;
  const here = { name: controller, controller };
  const counter = (name: string, help: string) => {
    const count = registry.counter({ name, help, labels });
    count(here, 0);
    return () => count(here);
  };
  const histogram = (name: string, help: string) => {
    const observe = registry.histogram({ name, help, labels }, QUEUE_SECONDS);
    return (ms: number) => observe(here, ms / 1000);
  };
  const gauge = (name: string, help: string, value: () => number) =>
    registry.computed('gauge', { name, help, labels }, () => [[here, value()]]);

  gauge('workqueue_depth', 'Resources that wait for a worker, or for their turn', () => state().length);
  const added = counter(
    'workqueue_adds_total',
    'Resources that were queued; one that waits already does not count again',
  );
  const taken = histogram(
    'workqueue_queue_duration_seconds',
    'Time that a resource waited for a worker, or for its turn',
  );
  const finished = histogram('workqueue_work_duration_seconds', 'Time that a worker spent on a resource');
  const retried = counter('workqueue_retries_total', 'Resources that were queued again after a failure');
  gauge(
    'workqueue_unfinished_work_seconds',
    'Time that the busy workers have spent on what they have not finished, taken together',
    () => state().unfinishedMs / 1000,
  );
  gauge(
    'workqueue_longest_running_processor_seconds',
    'Time that the longest busy worker has spent on what it has not finished',
    () => state().longestRunningMs / 1000,
  );
  return { added, taken, finished, retried };
}

/** Whether this process leads; without election it does. */
export function leaderMetrics(registry: Registry, name: string, isLeading: () => boolean): void {
  registry.computed(
    'gauge',
    {
      name: 'leader_election_master_status',
      help: '1 while this process leads, by the name of the Lease, 0 while another one does',
      labels: ['name'],
    },
    () => [[{ name }, isLeading() ? 1 : 0]],
  );
}
