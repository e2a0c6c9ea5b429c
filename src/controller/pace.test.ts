import { expect, test } from 'vitest';
import { ManualClock } from '../runtime/manual-clock.ts';
import { Pace } from './pace.ts';

function pace() {
  const clock = new ManualClock();
  return { clock, pace: new Pace(1000, clock) };
}

test('whoever has just spoken waits, and nobody else', () => {
  const { clock, pace: paced } = pace();
  expect(paced.waitMs('a')).toBe(0);
  paced.spoken('a');
  clock.advance(300);
  expect([paced.waitMs('a'), paced.waitMs('b')]).toEqual([700, 0]);
  clock.advance(700);
  expect(paced.waitMs('a')).toBe(0);
});

test('the last time counts, whatever others say meanwhile', () => {
  const { clock, pace: paced } = pace();
  for (const key of ['a', 'b', 'a']) {
    clock.advance(600);
    paced.spoken(key);
  }
  expect([paced.waitMs('a'), paced.waitMs('b')]).toEqual([1000, 400]);
});
