import { describe, expect, test } from 'vitest';
import { atof, atoi, decimal, wholeNumber } from './c-numbers.ts';

describe('atoi', () => {
  test.for([
    ['12', 12],
    [' \t12abc', 12],
    ['-7', -7],
    ['+7', 7],
    ['0.5', 0],
    ['', 0],
    ['abc', 0],
    ['2147483648', -2147483648],
    ['4294967297', 1],
    ['99999999999999999999', -1],
    ['-99999999999999999999', 0],
    ['0'.repeat(99).concat('5'), 5],
  ] as const)('%s', ([text, number]) => {
    expect(atoi(text)).toBe(number);
  });
});

test('many digits are no burden', () => {
  expect(atoi('9'.repeat(1_000_000))).toBe(-1);
  expect(wholeNumber('9'.repeat(1_000_000))).toBeUndefined();
});

describe('atof', () => {
  test.for([
    ['1.25', 1.25],
    [' 2x', 2],
    ['1e3', 1000],
    ['', 0],
    ['x', 0],
  ] as const)('%s', ([text, number]) => {
    expect(atof(text)).toBe(number);
  });
});

describe('a whole number', () => {
  test.for([
    ['12', 12],
    [' 12 and more', 12],
    ['4294967296', 0],
    ['-0', 0],
    ['12abc', undefined],
    ['-1', undefined],
    ['', undefined],
    ['18446744073709551616', undefined],
  ] as const)('%s', ([text, number]) => {
    expect(wholeNumber(text)).toBe(number);
  });
});

describe('a number with a fraction', () => {
  test.for([
    ['0.8', 0.8],
    ['.5', 0.5],
    ['-1.', -1],
    ['1e3 ', 1000],
    ['1e999', undefined],
    ['0.8x', undefined],
    ['', undefined],
    ['.', undefined],
  ] as const)('%s', ([text, number]) => {
    expect(decimal(text)).toBe(number);
  });
});
