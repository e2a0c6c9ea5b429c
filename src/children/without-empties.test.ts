import { expect, test } from 'vitest';
import { withoutEmpties } from './without-empties.ts';

test('what is empty goes, also what becomes empty by that', () => {
  const given = { a: [], b: {}, c: { d: { e: [] } }, f: undefined, g: null, h: { i: {}, j: 1 } };
  expect(Object.entries(withoutEmpties<object>(given))).toEqual([['h', { j: 1 }]]);
});

test('zero, false and the empty text are values', () => {
  const given = { a: 0, b: false, c: '' };
  expect(withoutEmpties(given)).toEqual(given);
});

test('an empty selector stays: it selects everything', () => {
  const peers = [{ podSelector: {} }, { namespaceSelector: { matchLabels: {} } }];
  expect(withoutEmpties(peers)).toEqual([{ podSelector: {} }, { namespaceSelector: {} }]);
  expect(withoutEmpties({ labelSelector: undefined, selector: null })).toEqual({});
});

test('items of lists stay, so that a rule does not lose its last source', () => {
  expect(withoutEmpties({ from: [{}] })).toEqual({ from: [{}] });
});
