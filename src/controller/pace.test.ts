import { expect, test } from 'vitest';
import { Pace } from './pace.ts';

function pace() {
  const clock = { ms: 10_000 };
  return { clock, pace: new Pace(1000, () => new Date(clock.ms)) };
}

test('whoever has just spoken waits, and nobody else', () => {
  const { clock, pace: paced } = pace();
  expect(paced.waitMs('a')).toBe(0);
  paced.spoken('a');
  clock.ms += 300;
  expect([paced.waitMs('a'), paced.waitMs('b')]).toEqual([700, 0]);
  clock.ms += 700;
  expect(paced.waitMs('a')).toBe(0);
});

test('the last time counts, whatever others say meanwhile', () => {
  const { clock, pace: paced } = pace();
  for (const key of ['a', 'b', 'a']) {
    clock.ms += 600;
    paced.spoken(key);
  }
  expect([paced.waitMs('a'), paced.waitMs('b')]).toEqual([1000, 400]);
});

test('nobody waits for long because a clock was set back', () => {
  const { clock, pace: paced } = pace();
  paced.spoken('a');
  clock.ms -= 5000;
  paced.spoken('b');
  expect([paced.waitMs('a'), paced.waitMs('b')]).toEqual([0, 1000]);
});

test('a clock that was set back keeps nobody waiting', () => {
  let now = 3_600_000;
  const pace = new Pace(1000, () => new Date(now));
  pace.spoken('a');
  now = 0;
  expect(pace.waitMs('a')).toBe(0);
});
