/** Workers: how many at once, what follows success and failure, and how they stop. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ConnectionLost } from './client/index.ts';
import { type Reconcile, runWorkers, type WorkersOptions } from './controller.ts';
import { ManualClock } from './manual-clock.ts';
import { WorkQueue } from './queue/work-queue.ts';

/** Workers under way, with a clock that stands still. */
function start(reconcile: Reconcile, options: Partial<WorkersOptions> = {}) {
  const clock = new ManualClock();
  const queue = new WorkQueue({ clock, random: () => 1 });
  const stop = new AbortController();
  const logged: unknown[][] = [];
  const record =
    (level: string) =>
    (...said: unknown[]) =>
      logged.push([level, ...said]);
  const log = { debug: record('debug'), info: record('info'), error: record('error') };
  let ids = 0;
  const ended = runWorkers({
    controller: 'memcached',
    queue,
    concurrency: 2,
    reconcile,
    log,
    signal: stop.signal,
    clock,
    newId: () => `id-${++ids}`,
    ...options,
  });
  const end = async () => {
    stop.abort();
    await ended;
  };
  return { clock, queue, stop, logged, ended, end };
}

test('works on as many keys at once as it has workers, and never twice on the same', async () => {
  const running = new Map<string, () => void>();
  const begun: string[] = [];
  const { queue, end } = start((key) => {
    expect(running.has(key)).toBe(false);
    begun.push(key);
    const { promise, resolve } = Promise.withResolvers<void>();
    running.set(key, resolve);
    return promise.finally(() => running.delete(key));
  });
  for (const key of ['a', 'b', 'c', 'a']) queue.add(key);
  await turn();
  expect([...running.keys()]).toEqual(['a', 'b']);
  queue.add('a');
  running.get('a')?.();
  await turn();
  expect([...running.keys()]).toEqual(['b', 'c']);
  running.get('b')?.();
  await turn();
  expect([...running.keys()]).toEqual(['c', 'a']);
  for (const finish of running.values()) finish();
  await end();
  expect(begun).toEqual(['a', 'b', 'c', 'a']);
});

test('a failure is logged once and tried again, later each time, and forgotten after a success', async () => {
  const failures = [new Error('first'), new Error('second')];
  const outcomes: string[] = [];
  const { clock, queue, logged, end } = start(
    async () => {
      const failure = failures.shift();
      if (failure) throw failure;
    },
    { onReconciled: (outcome) => outcomes.push(outcome) },
  );
  const [first, second] = failures;
  queue.add('team/cache');
  await turn();
  clock.advance(5);
  await turn();
  clock.advance(10);
  await turn();
  expect(outcomes).toEqual(['error', 'error', 'success']);
  const fields = { controller: 'memcached', namespace: 'team', name: 'cache' };
  expect(logged).toEqual([
    ['error', 'reconcile failed', { ...fields, reconcileId: 'id-1', error: first, retryInMs: 5 }],
    ['error', 'reconcile failed', { ...fields, reconcileId: 'id-2', error: second, retryInMs: 10 }],
  ]);
  expect(queue.retry('team/cache')).toBe(5);
  await end();
});

test.for([
  { what: 'passes by itself', error: new ConnectionLost('closed', 'x'), longestMs: 1_000 },
  { what: 'does not', error: new Error('x'), longestMs: 300_000 },
])('what $what is tried again after at most $longestMs ms', async ({ error, longestMs }) => {
  const { clock, queue, logged, end } = start(() => Promise.reject(error));
  queue.add('a');
  for (let failures = 0; failures < 20; failures += 1) {
    await turn();
    clock.advance(300_000);
  }
  const waits = logged.map(([, , fields]) => (fields as { retryInMs: number }).retryInMs);
  expect(waits.slice(0, 3)).toEqual([5, 10, 20]);
  expect(Math.max(...waits)).toBe(longestMs);
  await end();
});

test('a function that throws before it returns a promise is a failure like any other', async () => {
  const { queue, logged, end } = start(() => {
    throw new Error('at once');
  });
  queue.add('a');
  await turn();
  expect(logged).toHaveLength(1);
  await end();
});

test('looks again when it was asked to', async () => {
  const at: number[] = [];
  const durations: unknown[][] = [];
  const { clock, queue, end } = start(
    async () => {
      at.push(clock.now());
      clock.advance(2);
      return { requeueAfterMs: 100 };
    },
    { onReconciled: (...said) => durations.push(said) },
  );
  queue.add('a');
  await turn();
  clock.advance(100);
  await turn();
  expect(at).toEqual([0, 102]);
  expect(durations).toEqual([
    ['requeue', 2],
    ['requeue', 2],
  ]);
  await end();
});

test('asked to stop, it finishes what runs and begins nothing new', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const seen: { key: string; aborted: boolean }[] = [];
  const { clock, queue, stop, ended } = start(
    async (key, { signal }) => {
      await promise;
      seen.push({ key, aborted: signal.aborted });
    },
    { concurrency: 1 },
  );
  queue.add('running');
  queue.add('waiting');
  await turn();
  stop.abort();
  queue.add('late');
  await turn();
  expect(seen).toEqual([]);
  resolve();
  await ended;
  expect(seen).toEqual([{ key: 'running', aborted: false }]);
  expect(clock.timers).toBe(0);
});

test('what still runs after the time of grace is told to break off', async () => {
  const { clock, queue, stop, logged, ended } = start(
    (_key, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('broken off')));
      }),
    { graceMs: 1000 },
  );
  queue.add('team/slow');
  await turn();
  stop.abort();
  clock.advance(999);
  await turn();
  expect(logged).toEqual([]);
  clock.advance(1);
  await ended;
  const fields = { controller: 'memcached', namespace: 'team', name: 'slow', reconcileId: 'id-1' };
  expect(logged).toEqual([['info', 'reconcile broken off', fields]]);
});

test('with a signal that was given before, it begins nothing', async () => {
  const begun: string[] = [];
  const { queue, ended } = start(async (key) => void begun.push(key), { signal: AbortSignal.abort() });
  queue.add('a');
  await ended;
  expect(begun).toEqual([]);
});

test('what makes much work for others comes again, and is told that it may', async () => {
  const seen: [string, string][] = [];
  const { queue, end } = start(
    async (key, { priority }) => {
      seen.push([key, priority]);
      return key === 'heavy' && priority !== 'burden' ? { isBurden: true } : undefined;
    },
    { concurrency: 1 },
  );
  queue.add('heavy', 'wish');
  queue.add('light');
  await turn();
  expect(seen).toEqual([
    ['heavy', 'wish'],
    ['light', 'change'],
    ['heavy', 'burden'],
  ]);
  await end();
});

test('a burden that fails is tried again, later each time, though it is put off in between', async () => {
  const { clock, logged, queue, end } = start(async (_, { priority }) => {
    if (priority === 'burden') throw new Error('refused');
    return { isBurden: true };
  });
  queue.add('heavy', 'wish');
  for (let time = 0; time < 4; time += 1) {
    await turn();
    clock.advance(1000);
  }
  const waits = logged.map(([, , fields]) => (fields as { retryInMs: number }).retryInMs);
  expect(waits).toEqual([5, 10, 20, 40]);
  await end();
});

test('tells a reconcile whether others wait who want something new', async () => {
  const seen: [string, boolean][] = [];
  const { queue, end } = start(async (key, { othersWait }) => void seen.push([key, othersWait()]), { concurrency: 1 });
  queue.add('first', 'wish');
  queue.add('second', 'wish');
  queue.add('third', 'change');
  await turn();
  expect(seen).toEqual([
    ['first', true],
    ['second', false], // a mere change is nobody's wish
    ['third', false],
  ]);
  await end();
});

test('only who carries a burden minds others with burdens: they do not wait for the rest', async () => {
  const seen: [string, boolean][] = [];
  const { queue, end } = start(async (key, { othersWait }) => void seen.push([key, othersWait()]), { concurrency: 1 });
  for (const key of ['first', 'second']) queue.add(key, 'burden');
  queue.add('change');
  await turn();
  expect(seen).toEqual([
    ['first', true],
    ['change', false],
    ['second', false],
  ]);
  await end();
});
