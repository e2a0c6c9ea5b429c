/** The work queue: single rules as examples, all of them together against a simple model. */
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ManualClock } from '../manual-clock.ts';
import { backoffMs } from './backoff.ts';
import { type Priority, WorkQueue } from './work-queue.ts';
import { WorkQueueModel } from './work-queue-model.ts';

function manualQueue(random = () => 1) {
  const clock = new ManualClock();
  return { clock, queue: new WorkQueue({ clock, random }) };
}

/** Everything that is given out without waiting. */
async function takeAll(queue: WorkQueue): Promise<(string | undefined)[]> {
  const keys: (string | undefined)[] = [];
  while (queue.length > 0) keys.push(await take(queue));
  return keys;
}

async function take(queue: WorkQueue): Promise<string | undefined> {
  return (await queue.take())?.key;
}

test('a key that is added often is given out once', async () => {
  const { queue } = manualQueue();
  for (const key of ['a', 'b', 'a', 'a', 'b']) queue.add(key);
  expect(await takeAll(queue)).toEqual(['a', 'b']);
});

test('a key that is added while it runs is given out once more, after it is done', async () => {
  const { queue } = manualQueue();
  queue.add('a');
  await queue.take();
  queue.add('a');
  queue.add('a');
  expect(queue.length).toBe(0);
  queue.done('a');
  expect(await takeAll(queue)).toEqual(['a']);
  queue.done('a');
  expect(queue.length).toBe(0);
});

test('whoever waits gets the next key, the longest waiting first', async () => {
  const { queue } = manualQueue();
  const takers = [take(queue), take(queue)];
  queue.add('a');
  queue.add('b');
  expect(await Promise.all(takers)).toEqual(['a', 'b']);
});

test('changes come before refreshes, and a refresh that becomes a change moves up', async () => {
  const { queue } = manualQueue();
  queue.add('old', 'refresh');
  queue.add('older', 'refresh');
  queue.add('new');
  queue.add('older');
  queue.add('new', 'refresh');
  expect(await takeAll(queue)).toEqual(['new', 'older', 'old']);
});

test('a wish comes before all changes, and one key in ten is of those that come after it', async () => {
  const { queue } = manualQueue();
  for (let number = 0; number < 10; number += 1) queue.add(`change-${number}`);
  queue.add('old', 'refresh');
  for (let number = 0; number < 20; number += 1) queue.add(`wish-${number}`, 'wish');
  queue.add('change-5', 'wish');
  const keys = await takeAll(queue);
  expect(keys[0]).toBe('wish-0');
  expect([keys.indexOf('change-0'), keys.indexOf('change-1'), keys.indexOf('change-5')]).toEqual([9, 19, 1]);
  expect(keys.slice(-2)).toEqual(['change-9', 'old']);
});

test('of many wishes every other is the newest, so that neither who came late nor who came early waits for all', async () => {
  const queue = new WorkQueue();
  for (let number = 1; number <= 6; number += 1) queue.add(`early-${number}`, 'wish');
  const taken = [await take(queue), await take(queue)];
  queue.add('late', 'wish');
  for (let number = 0; number < 5; number += 1) taken.push(await take(queue));
  expect(taken).toEqual(['early-1', 'early-6', 'early-2', 'late', 'early-3', 'early-5', 'early-4']);
});

test('one key in ten is a refresh, however many changes there are', async () => {
  const { queue } = manualQueue();
  for (let number = 0; number < 40; number += 1) queue.add(`change-${number}`);
  for (let number = 0; number < 3; number += 1) queue.add(`refresh-${number}`, 'refresh');
  const keys = await takeAll(queue);
  expect([keys.indexOf('refresh-0'), keys.indexOf('refresh-1'), keys.indexOf('refresh-2')]).toEqual([9, 19, 29]);
});

test('of burdens a few run at once, each followed by a rest in which everything else goes on', async () => {
  const { clock, queue } = manualQueue();
  for (let number = 1; number <= 7; number += 1) queue.add(`burden-${number}`, 'burden');
  queue.add('refresh', 'refresh');
  queue.add('change');
  const first = [await take(queue), await take(queue), await take(queue), await take(queue), await take(queue)];
  expect(first).toEqual(['change', 'burden-1', 'burden-7', 'burden-2', 'burden-6']);
  expect(await take(queue)).toBe('refresh');
  const next = take(queue);
  clock.advance(10);
  queue.done('burden-7');
  queue.add('another');
  expect(await next).toBe('another');
  const rested = queue.take();
  clock.advance(149);
  expect(queue.running).toBe(6);
  clock.advance(1);
  expect(await rested).toEqual({ key: 'burden-3', priority: 'burden' });
});

test('of burdens, too, every other is the newest, whatever comes between', async () => {
  const { clock, queue } = manualQueue();
  for (let number = 1; number <= 6; number += 1) queue.add(`burden-${number}`, 'burden');
  const taken: (string | undefined)[] = [];
  for (let number = 1; number <= 6; number += 1) {
    const key = await take(queue);
    taken.push(key);
    queue.done(key ?? '');
    clock.advance(0);
    queue.add('refresh', 'refresh');
    if (number < 6) continue;
    taken.push(await take(queue));
  }
  expect(taken).toEqual(['burden-1', 'burden-6', 'burden-2', 'burden-5', 'burden-3', 'burden-4', 'refresh']);
});

test('while wishes keep coming, one burden runs at a time; when they have ended, the others follow at once', async () => {
  const { clock, queue } = manualQueue();
  const order: (string | undefined)[] = [];
  const worker = async () => {
    order.push(await take(queue));
  };
  for (let number = 1; number <= 3; number += 1) queue.add(`burden-${number}`, 'burden');
  queue.add('wish', 'wish');
  const workers = Array.from({ length: 6 }, worker);
  await turn();
  expect(order).toEqual(['wish', 'burden-1']);
  clock.advance(499);
  queue.add('another', 'wish');
  clock.advance(499);
  await turn();
  expect(order).toEqual(['wish', 'burden-1', 'another']);
  clock.advance(1);
  await Promise.all(workers.slice(0, 5));
  expect(order).toEqual(['wish', 'burden-1', 'another', 'burden-3', 'burden-2']);
});

test('no timer is set for the past, though they ring early and time goes on between two looks at the clock', () => {
  const inner = new ManualClock();
  const waits: number[] = [];
  let looks = 0;
  const queue = new WorkQueue({
    clock: {
      now: () => inner.now() + (looks += 1) * 0.3,
      after(ms, callback) {
        waits.push(ms);
        return inner.after(Math.max(0, ms - 1), callback);
      },
    },
  });
  queue.add('wish', 'wish');
  inner.advance(1000);
  expect(waits.length).toBeGreaterThan(2);
  expect(waits.filter((ms) => ms < 0)).toEqual([]);
});

test('a burden that hangs does not hold up the others for long, even while wishes keep coming', async () => {
  const { clock, queue } = manualQueue();
  const wish = () => queue.add('wish', 'wish');
  wish();
  queue.add('hangs', 'burden');
  expect([await take(queue), await take(queue)]).toEqual(['wish', 'hangs']);
  queue.add('next', 'burden');
  const next = take(queue);
  for (let time = 0; time < 3; time += 1) {
    clock.advance(300);
    wish();
  }
  expect(queue.running).toBe(2);
  clock.advance(101);
  expect(await next).toBe('next');
});

test('who was answered slowly does not let others wait for long', async () => {
  const { clock, queue } = manualQueue();
  for (let number = 1; number <= 5; number += 1) queue.add(`burden-${number}`, 'burden');
  for (let number = 1; number <= 4; number += 1) await queue.take();
  clock.advance(60_000);
  queue.done('burden-1');
  const next = take(queue);
  clock.advance(1000);
  expect(await next).toBe('burden-3');
});

test('of several delays the earliest counts, and adding at once replaces them', async () => {
  const { clock, queue } = manualQueue();
  queue.addAfter('a', 100);
  queue.addAfter('a', 50);
  queue.addAfter('a', 70);
  clock.advance(49);
  expect(queue.length).toBe(0);
  clock.advance(1);
  expect(await takeAll(queue)).toEqual(['a']);
  queue.done('a');
  queue.addAfter('a', 100);
  queue.add('a');
  expect(queue.delayed).toBe(0);
});

test('who is merely looked at again later comes together with others', async () => {
  const { clock, queue } = manualQueue();
  clock.advance(1);
  queue.addAfter('a', 1000);
  clock.advance(300);
  queue.addAfter('b', 1000);
  queue.addAfter('soon', 900);
  queue.addAfter('change', 1000, 'change');
  clock.advance(1000);
  expect(await takeAll(queue)).toEqual(['change', 'soon']);
  clock.advance(199);
  expect(await takeAll(queue)).toEqual(['a', 'b']); // at 1500, both of them
});

test('retries wait longer each time, until the failures are forgotten', () => {
  const { queue } = manualQueue();
  expect([1, 2, 3].map(() => queue.retry('a'))).toEqual([5, 10, 20]);
  expect(queue.retry('b')).toBe(5);
  queue.forget('a');
  expect(queue.retry('a')).toBe(5);
  for (let failures = 0; failures < 100; failures += 1) queue.retry('b');
  expect(queue.retry('b')).toBe(300_000);
});

test('shut down, it gives out nothing more and leaves no timer', async () => {
  const { clock, queue } = manualQueue();
  queue.addAfter('later', 10);
  queue.add('burden', 'burden');
  queue.done((await take(queue)) ?? '');
  const waiting = queue.take();
  queue.shutDown();
  expect(await waiting).toBeUndefined();
  queue.add('a');
  queue.retry('a');
  expect(await queue.take()).toBeUndefined();
  expect([queue.length, queue.delayed, clock.timers]).toEqual([0, 0, 0]);
});

test('the hooks hear what metrics need', async () => {
  const clock = new ManualClock();
  const heard: unknown[][] = [];
  const hear =
    (what: string) =>
    (...values: unknown[]) =>
      heard.push([what, ...values]);
  const hooks = {
    added: hear('added'),
    taken: hear('taken'),
    retried: hear('retried'),
    finished: hear('finished'),
  };
  const queue = new WorkQueue({ clock, hooks });
  queue.add('a', 'refresh');
  queue.add('a'); // is due already
  clock.advance(3);
  await queue.take();
  clock.advance(4);
  queue.add('b');
  await queue.take();
  clock.advance(1);
  expect([queue.longestRunningMs, queue.unfinishedMs]).toEqual([5, 6]);
  queue.add('b'); // once more, after this time
  queue.retry('a');
  queue.done('a');
  expect([queue.longestRunningMs, queue.unfinishedMs]).toEqual([1, 1]);
  queue.done('b');
  expect([queue.longestRunningMs, queue.unfinishedMs]).toEqual([0, 0]);
  expect(heard).toEqual([
    ['added', 'refresh'],
    ['taken', 3],
    ['added', 'change'],
    ['taken', 0],
    ['added', 'change'],
    ['retried', 1],
    ['finished', 5],
    ['finished', 1],
  ]);
});

const someKey = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const priority = fc.constantFrom<Priority>('wish', 'change', 'burden', 'refresh');
const action = fc.oneof(
  fc.record({ do: fc.constant('add' as const), key: someKey, priority }),
  fc.record({ do: fc.constant('addAfter' as const), key: someKey, priority, ms: fc.integer({ min: 1, max: 20 }) }),
  fc.record({ do: fc.constant('retry' as const), key: someKey }),
  fc.record({ do: fc.constant('forget' as const), key: someKey }),
  fc.record({ do: fc.constant('take' as const) }),
  fc.record({ do: fc.constant('done' as const), key: someKey }),
  fc.record({ do: fc.constant('advance' as const), ms: fc.oneof(fc.nat(10), fc.nat(700)) }),
);

type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

/** The queue and its model, which do everything together. */
class Twins {
  readonly clock = new ManualClock();
  readonly queue = new WorkQueue({ clock: this.clock, random: () => this.#unevenly() });
  readonly model = new WorkQueueModel();
  readonly running = new Set<string>();
  readonly #failures = new Map<string, number>();
  #turn = 0;

  /** No two delays end at the same time: which of them comes first would be open. */
  #unevenly(): number {
    return 1 - this.#turn / 1e6;
  }

  /** What each of the two answered. */
  async perform(next: Action): Promise<{ queue: unknown; model: unknown }> {
    this.#turn += 1;
    const { clock, queue, model } = this;
    if (next.do === 'take') return model.hasDue ? this.#take() : { queue: undefined, model: undefined };
    if (next.do === 'advance') {
      clock.advance(next.ms);
      return { queue: undefined, model: model.pass(clock.now()) };
    }
    const name = next.key;
    if (next.do === 'add') return { queue: queue.add(name, next.priority), model: model.add(name, next.priority) };
    if (next.do === 'addAfter') {
      const ms = next.ms + this.#turn * Math.SQRT2 * 1e-7; // also for those that are due at once
      const at = clock.now() + ms;
      return { queue: queue.addAfter(name, ms, next.priority), model: model.addAfter(name, at, next.priority) };
    }
    if (next.do === 'retry') return this.#retry(name);
    if (next.do === 'forget') {
      this.#failures.delete(name);
      return { queue: queue.forget(name), model: undefined };
    }
    return { queue: queue.done(name), model: this.running.delete(name) ? model.done(name) : undefined };
  }

  async #take() {
    const task = await this.queue.take();
    const key = task?.key ?? 'nothing';
    const answer = { queue: task, model: this.running.has(key) ? 'not one that runs' : this.model.take() };
    this.running.add(key);
    return answer;
  }

  #retry(key: string) {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const ms = backoffMs({ baseMs: 5, capMs: 300_000 }, failures, () => this.#unevenly());
    this.model.addAfter(key, this.clock.now() + ms, 'change');
    return { queue: this.queue.retry(key), model: ms };
  }
}

test('does what the model does, whatever happens', { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 150, size: 'max' }), async (actions) => {
      const twins = new Twins();
      for (const next of actions) {
        const answer = await twins.perform(next);
        expect(answer.queue).toEqual(answer.model);
        const { queue, model, running } = twins;
        expect([queue.length, queue.running, queue.delayed]).toEqual([
          model.waiting().length,
          running.size,
          model.delayed,
        ]);
      }
    }),
    { numRuns: 500 },
  );
});
