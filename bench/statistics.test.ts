import { expect, test } from 'vitest';
import { greatestOf, mean, meansOf, median, quantile } from './statistics.ts';

const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);

test('99 of 100 are no greater than the 99th percentile', () => {
  expect(quantile(hundred, 0.99)).toBe(99);
  expect(quantile([7], 0.99)).toBe(7);
  expect(median(hundred)).toBe(50);
  expect(median([])).toBeNaN();
});

test('figures are summed up one by one', () => {
  const all = [
    { ms: 1, mb: 5 },
    { ms: 3, mb: 2 },
  ];
  expect(mean([1, 2, 6])).toBe(3);
  expect(meansOf(all, ['ms'])).toEqual({ ms: 2 });
  expect(greatestOf(all, ['ms', 'mb'])).toEqual({ ms: 3, mb: 5 });
});
