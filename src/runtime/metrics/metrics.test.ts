/** What controllers, requests and the process are counted by. */
import { expect, test } from 'vitest';
import { ManualClock } from '../manual-clock.ts';
import { WorkQueue } from '../queue/work-queue.ts';
import { controllerMetrics, leaderMetrics } from './controller-metrics.ts';
import { processMetrics } from './process-metrics.ts';
import { Registry } from './registry.ts';
import { requestMetrics } from './request-metrics.ts';

function newRegistry(): Registry {
  const fail = (message: string) => expect.unreachable(message);
  return new Registry({ debug: fail, info: fail, error: fail });
}

function textOf(registry: Registry): string {
  return [...registry.pieces()].join('');
}

/** The numbers of the page, without those of buckets, by what stands before them. */
function numbers(registry: Registry): Record<string, number> {
  const lines = textOf(registry).split('\n');
  const samples = lines.filter((line) => line !== '' && !line.startsWith('#') && !line.includes('_bucket{'));
  return Object.fromEntries(
    samples.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

test('what has not happened yet is 0', () => {
  const registry = newRegistry();
  controllerMetrics(registry, 'm', 16);
  expect(numbers(registry)).toEqual({
    'controller_runtime_reconcile_total{controller="m",result="success"}': 0,
    'controller_runtime_reconcile_total{controller="m",result="requeue_after"}': 0,
    'controller_runtime_reconcile_total{controller="m",result="error"}': 0,
    'controller_runtime_reconcile_errors_total{controller="m"}': 0,
    'controller_runtime_max_concurrent_reconciles{controller="m"}': 16,
    'controller_runtime_active_workers{controller="m"}': 0,
    'workqueue_depth{name="m",controller="m"}': 0,
    'workqueue_adds_total{name="m",controller="m"}': 0,
    'workqueue_retries_total{name="m",controller="m"}': 0,
    'workqueue_unfinished_work_seconds{name="m",controller="m"}': 0,
    'workqueue_longest_running_processor_seconds{name="m",controller="m"}': 0,
  });
});

test('reconciles are counted by how they ended', () => {
  const registry = newRegistry();
  const { onReconciled } = controllerMetrics(registry, 'm', 16);
  for (const outcome of ['success', 'requeue', 'requeue', 'error'] as const) onReconciled(outcome, 500);
  expect(numbers(registry)).toMatchObject({
    'controller_runtime_reconcile_total{controller="m",result="success"}': 1,
    'controller_runtime_reconcile_total{controller="m",result="requeue_after"}': 2,
    'controller_runtime_reconcile_total{controller="m",result="error"}': 1,
    'controller_runtime_reconcile_errors_total{controller="m"}': 1,
    'controller_runtime_reconcile_time_seconds_sum{controller="m"}': 2,
    'controller_runtime_reconcile_time_seconds_count{controller="m"}': 4,
  });
});

test('a queue shows what waits, what runs, and for how long', async () => {
  const registry = newRegistry();
  const clock = new ManualClock();
  const { hooks, show } = controllerMetrics(registry, 'm', 16);
  const queue = new WorkQueue({ hooks, clock });
  show(queue);
  for (const key of ['a', 'b', 'c']) queue.add(key);
  clock.advance(2000);
  await queue.take();
  await queue.take();
  clock.advance(3000);
  const labels = '{name="m",controller="m"}';
  expect(numbers(registry)).toMatchObject({
    'controller_runtime_active_workers{controller="m"}': 2,
    [`workqueue_depth${labels}`]: 1,
    [`workqueue_adds_total${labels}`]: 3,
    [`workqueue_queue_duration_seconds_sum${labels}`]: 4,
    [`workqueue_unfinished_work_seconds${labels}`]: 6,
    [`workqueue_longest_running_processor_seconds${labels}`]: 3,
  });
  queue.retry('a');
  queue.done('a');
  expect(numbers(registry)).toMatchObject({
    [`workqueue_retries_total${labels}`]: 1,
    [`workqueue_work_duration_seconds_sum${labels}`]: 3,
    [`workqueue_work_duration_seconds_count${labels}`]: 1,
  });
});

test('who leads is told', () => {
  const registry = newRegistry();
  let isLeading = false;
  leaderMetrics(registry, 'lease', () => isLeading);
  expect(numbers(registry)).toEqual({ 'leader_election_master_status{name="lease"}': 0 });
  isLeading = true;
  expect(numbers(registry)).toEqual({ 'leader_election_master_status{name="lease"}': 1 });
});

test('requests are counted by verb and answer', () => {
  const registry = newRegistry();
  const tell = requestMetrics(registry);
  for (const code of [200, 200, 409, 0]) tell({ verb: 'apply', method: 'PATCH', kind: 'Service', code, seconds: 0.25 });
  expect(numbers(registry)).toEqual({
    'rest_client_requests_total{verb="apply",method="PATCH",code="200"}': 2,
    'rest_client_requests_total{verb="apply",method="PATCH",code="409"}': 1,
    'rest_client_requests_total{verb="apply",method="PATCH",code="<error>"}': 1,
    'rest_client_request_duration_seconds_sum{verb="apply"}': 1,
    'rest_client_request_duration_seconds_count{verb="apply"}': 4,
  });
});

test('the process tells what it takes, and how late its timers are, until it is stopped', () => {
  const registry = newRegistry();
  const clock = new ManualClock();
  const late = { now: () => clock.now(), after: (ms: number, call: () => void) => clock.after(ms + 20, call) };
  const stop = new AbortController();
  const figures = {
    cpuUsage: () => ({ user: 1_500_000, system: 500_000 }),
    memoryUsage: () => ({ rss: 4, heapTotal: 3, heapUsed: 2, external: 1 }),
  };
  processMetrics(registry, { figures, signal: stop.signal, clock: late });
  clock.advance(2600);
  const {
    process_open_fds: open,
    process_max_fds: most,
    process_start_time_seconds: start,
    ...rest
  } = numbers(registry);
  expect(rest).toEqual({
    process_cpu_seconds_total: 2,
    process_resident_memory_bytes: 4,
    nodejs_heap_size_total_bytes: 3,
    nodejs_heap_size_used_bytes: 2,
    nodejs_external_memory_bytes: 1,
    nodejs_eventloop_lag_seconds_count: 5,
    nodejs_eventloop_lag_seconds_sum: 0.1,
  });
  expect(open).toBeGreaterThan(2);
  expect(most).toBeGreaterThan(open ?? Number.NaN);
  expect(start).toBeLessThan(Date.now() / 1000);
  stop.abort();
  expect(clock.timers).toBe(0);
});
