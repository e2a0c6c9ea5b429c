import { expect, test } from 'vitest';
import { rowsFor, tableOf } from './rows.ts';

const row = rowsFor('any');

test.each([
  ['at the budget', row('x', 12, { most: 12 }), 'met'],
  ['above it', row('x', 12.01, { most: 12 }), 'NOT MET'],
  ['at the ratio', row('x', 15, { ratio: 1.5, reference: 10 }), 'met'],
  ['above the ratio', row('x', 15.1, { ratio: 1.5, reference: 10 }), 'NOT MET'],
  ['a ratio of nothing', row('x', 1, { ratio: 1.5 }), 'NOT MET'],
  ['nothing measured', row('x', Number.NaN, { most: 12 }), 'NOT MET'],
  ['above it on a machine that others used', row('x', 13, { most: 12, others: 0.21 }), 'unclear'],
  ['above it on a machine that others hardly used', row('x', 13, { most: 12, others: 0.2 }), 'NOT MET'],
  ['met on a machine that others used', row('x', 11, { most: 12, others: 0.9 }), 'met'],
  ['without a budget', row('x', 13), undefined],
])('%s', (_, { verdict }, expected) => {
  expect(verdict).toBe(expected);
});

test('the table has a line for each, with budget, ratio and verdict', () => {
  const rows = [row('time, s', 3, { ratio: 1.5, reference: 2 }), row('writes', 1, { most: 0 })];
  expect(
    tableOf(rows)
      .split('\n')
      .map((line) => line.trim().split(/\s{2,}/)),
  ).toEqual([
    ['budget', 'measured', 'reference', 'ratio', 'verdict'],
    ['any'],
    ['time, s', '≤ 1.5 ×', '3', '2', '1.50 ×', 'met'],
    ['writes', '0', '1', 'NOT MET'],
  ]);
});
