import { expect, test } from 'vitest';
import { mebibytes, quantityInNano } from './quantity.ts';

test.for([
  ['1', '1000m'],
  ['0.5', '500m'],
  ['1Gi', '1024Mi'],
  ['1.5Gi', '1536Mi'],
  ['1e3', '1k'],
  ['1E3', '1000'],
  ['+2', '2'],
  ['.5', '500m'],
  ['1.', '1'],
  ['0.1n', '1n'],
] as const)('%s is %s', ([one, other]) => {
  expect(quantityInNano(one)).toBe(quantityInNano(other));
  expect(quantityInNano(one)).toBeTypeOf('bigint');
});

test.for(['', '.', '1x', '1 Mi', 'Mi', '--1', '1ki', '1e', '1e999'])('%j is no quantity', (text) => {
  expect(quantityInNano(text)).toBeUndefined();
});

test.for([
  ['64Mi', 64],
  ['1Gi', 1024],
  [67_108_863, 63],
  ['100M', 95],
  ['plenty', undefined],
] as const)('%s is %s Mi', ([quantity, expected]) => {
  expect(mebibytes(quantity)).toBe(expected);
});
