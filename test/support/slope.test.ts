import { expect, test } from 'vitest';
import { randomFrom } from './fault-proxy/index.ts';
import { slopeOf } from './slope.ts';

const points = (count: number, y: (x: number) => number) => Array.from({ length: count }, (_, x) => ({ x, y: y(x) }));

test('a line is a line', () => {
  expect(slopeOf(points(10, (x) => 5 + 3 * x))).toEqual({ value: expect.closeTo(3), margin: expect.closeTo(0) });
});

test('known figures', () => {
  // Anscombe's first quartet: slope 0.5001, standard error 0.1179, t(9) = 2.262.
  const y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
  const quartet = [10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5].map((x, index) => ({ x, y: y[index] ?? 0 }));
  const { value, margin } = slopeOf(quartet);
  expect(value).toBeCloseTo(0.5001, 4);
  expect(margin).toBeCloseTo(0.2667, 2);
});

test('noise is told from growth in nineteen of twenty cases', () => {
  const random = randomFrom(1);
  const seen = Array.from({ length: 2000 }, () => slopeOf(points(20, () => random() + random() + random())));
  const wrong = seen.filter(({ value, margin }) => Math.abs(value) > margin).length / seen.length;
  expect(wrong).toBeGreaterThan(0.03);
  expect(wrong).toBeLessThan(0.07);
});
