/** What the process takes of its machine, under the names that Prometheus has for it in every language. */
import { readdirSync, readFileSync } from 'node:fs';
import { type Clock, systemClock } from '../clock.ts';
import type { Registry } from './registry.ts';

/** The part of Node's `process` that is read here. */
export interface ProcessFigures {
  cpuUsage(): { readonly user: number; readonly system: number };
  memoryUsage(): {
    readonly rss: number;
    readonly heapTotal: number;
    readonly heapUsed: number;
    readonly external: number;
  };
}

export interface ProcessMetricsOptions {
  readonly figures: ProcessFigures;
  readonly signal: AbortSignal;
  readonly clock?: Clock;
}

const LAG_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];
/** Ten a second took 0.1 % of a CPU, which is a lot for an operator that has nothing to do. */
const LAG_INTERVAL_MS = 500;

export function processMetrics(registry: Registry, { figures, signal, clock }: ProcessMetricsOptions): void {
  const gauge = (name: string, help: string, value: () => number) => registry.computed('gauge', { name, help }, value);
  registry.computed('counter', { name: 'process_cpu_seconds_total', help: 'CPU time that was used' }, () => {
    const { user, system } = figures.cpuUsage();
    return (user + system) / 1e6;
  });
  const { timeOrigin } = performance;
  gauge('process_start_time_seconds', 'When the process began, in seconds since 1970', () => timeOrigin / 1000);
  gauge('process_resident_memory_bytes', 'Memory that the process occupies', () => figures.memoryUsage().rss);
  gauge('process_open_fds', 'Open file descriptors', () => readdirSync('/proc/self/fd').length - 1); // not the one of this look
  gauge('process_max_fds', 'File descriptors that may be open', mostDescriptors);
  gauge(
    'nodejs_heap_size_used_bytes',
    'Part of the JavaScript heap that is in use',
    () => figures.memoryUsage().heapUsed,
  );
  gauge('nodejs_heap_size_total_bytes', 'Size of the JavaScript heap', () => figures.memoryUsage().heapTotal);
  gauge('nodejs_external_memory_bytes', 'Buffers outside of the heap', () => figures.memoryUsage().external);
  lagMetrics(registry, signal, clock);
}

function mostDescriptors(): number {
  return Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Number.NaN);
}

/** A clock that rings late shows that everything else was late, too. Unlike a maximum since the last scrape, a histogram is right for any number of readers. */
function lagMetrics(registry: Registry, signal: AbortSignal, clock = systemClock): void {
  const observe = registry.histogram(
    {
      name: 'nodejs_eventloop_lag_seconds',
      help: 'By how much a timer was late, twice a second: how long one task has held up the others',
    },
    LAG_SECONDS,
  );
  let cancel = () => {};
  const next = () => {
    const due = clock.now() + LAG_INTERVAL_MS;
    cancel = clock.after(LAG_INTERVAL_MS, () => {
      observe({}, Math.max(0, clock.now() - due) / 1000);
      next();
    });
  };
  if (!signal.aborted) next();
  signal.addEventListener('abort', () => cancel(), { once: true });
}
