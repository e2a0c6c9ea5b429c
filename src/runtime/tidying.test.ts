import { expect, test } from 'vitest';
import { ManualClock } from './manual-clock.ts';
import { Tidying } from './tidying.ts';

function started() {
  const clock = new ManualClock();
  const seen = { collected: 0 };
  const tidying = new Tidying([() => (seen.collected += 1)], clock);
  return { clock, seen, tidying };
}

test('collects once after a burst, when it has been quiet for a moment, and then leaves no timer', () => {
  const { clock, seen, tidying } = started();
  for (let drops = 0; drops < 10; drops += 1) {
    tidying.soon();
    tidying.soon();
    clock.advance(1000);
  }
  expect([seen.collected, clock.timers]).toEqual([0, 1]);
  clock.advance(2000);
  expect([seen.collected, clock.timers]).toEqual([1, 0]);
  clock.advance(600_000);
  expect(seen.collected).toBe(1);
});

test('collects at most once a minute, and in the midst of work only where that does not end for so long', () => {
  const { clock, seen, tidying } = started();
  tidying.soon();
  clock.advance(3000);
  for (let changes = 0; changes < 12; changes += 1) {
    tidying.soon();
    clock.advance(5000);
  }
  expect(seen.collected).toBe(2);
  const work = (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      tidying.soon();
      clock.advance(1000);
    }
  };
  work(59);
  expect(seen.collected).toBe(2);
  work(200);
  expect(seen.collected).toBe(6);
  clock.advance(600_000);
  expect([seen.collected, clock.timers]).toEqual([7, 0]);
});

test.each([
  ['the longer it takes, the longer is the pause after it', 1, [60, 561, 1062, 1563]],
  ['half an hour at most', 10, [60, 1870]],
])('%s', (_, seconds, expected) => {
  const clock = new ManualClock();
  const begun: number[] = [];
  const step = () => {
    begun.push(clock.now() / 1000);
    clock.advance(1000 * seconds);
  };
  const tidying = new Tidying([step], clock);
  for (let second = 0; second < 2000; second += 1) {
    tidying.soon();
    clock.advance(1000);
  }
  expect(begun).toEqual(expected);
});

function inSteps() {
  const clock = new ManualClock();
  const done: [string, number][] = [];
  const step = (name: string) => () => void done.push([name, clock.now()]);
  return { clock, done, tidying: new Tidying([step('first'), step('second')], clock) };
}

test('several steps follow each other, unless there is work again', () => {
  const { clock, done, tidying } = inSteps();
  tidying.soon();
  clock.advance(60_000);
  expect([done, clock.timers]).toEqual([
    [
      ['first', 3000],
      ['second', 5000],
    ],
    0,
  ]);
  tidying.soon();
  clock.advance(6000);
  expect(done.slice(2)).toEqual([['first', 65_000]]);
  tidying.soon(); // a second later
  clock.advance(60_000);
  expect([done.slice(3), clock.timers]).toEqual([[['second', 69_000]], 0]);
});

test('work that does not end is interrupted for all steps', () => {
  const { clock, done, tidying } = inSteps();
  for (let second = 0; second < 130; second += 1) {
    tidying.soon();
    clock.advance(1000);
  }
  expect(done).toEqual([
    ['first', 60_000],
    ['second', 62_000],
    ['first', 122_000],
    ['second', 124_000],
  ]);
});

test('the pause is that for all steps together', () => {
  const clock = new ManualClock();
  const begun: number[] = [];
  const step = (ms: number) => () => {
    begun.push(clock.now());
    clock.advance(ms);
  };
  const tidying = new Tidying([step(200), step(300)], clock);
  tidying.soon();
  clock.advance(4000);
  clock.advance(4000);
  tidying.soon();
  clock.advance(600_000);
  expect(begun.slice(0, 3)).toEqual([3000, 5200, 255_500]);
});

test('stopped, it collects nothing', () => {
  const { clock, seen, tidying } = started();
  tidying.soon();
  tidying.stop();
  tidying.stop();
  clock.advance(600_000);
  expect([seen.collected, clock.timers]).toEqual([0, 0]);
});

test('stopped between two steps, it leaves out the second one', () => {
  const clock = new ManualClock();
  let steps = 0;
  const step = () => (steps += 1);
  const tidying = new Tidying([step, step], clock);
  tidying.soon();
  clock.advance(3000);
  tidying.stop();
  clock.advance(600_000);
  expect([steps, clock.timers]).toEqual([1, 0]);
});

test('a timer that comes a moment too early is followed by one that is not in the past', () => {
  let now = 0;
  const timers: { readonly ms: number; readonly callback: () => void }[] = [];
  const clock = {
    now: () => (now += 0.01), // time passes while one looks at it
    after(ms: number, callback: () => void) {
      timers.push({ ms, callback });
      return () => {};
    },
  };
  let collected = 0;
  new Tidying([() => (collected += 1)], clock).soon();
  now = 3000.01 - 0.015;
  timers[0]?.callback();
  expect([timers.map(({ ms }) => Math.round(ms)), collected]).toEqual([[3000, 0], 0]);
  expect(timers[1]?.ms).toBeGreaterThanOrEqual(0);
  timers[1]?.callback();
  expect(collected).toBe(1);
});
