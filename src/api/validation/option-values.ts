/** Rules for the values of memcached's options, each with the words that tell it. */
import { atof, atoi, decimal, wholeNumber } from './c-numbers.ts';

export interface ValueRule {
  /** What the value must be. */
  readonly must: string;
  readonly holds: (value: string) => boolean;
}

export const anything: ValueRule = { must: 'given', holds: () => true };

export const notBlank: ValueRule = { must: 'more than blanks', holds: (value) => value.trim() !== '' };

export function integer(least: number, most = Infinity): ValueRule {
  const must = most === Infinity ? `a whole number of at least ${least}` : `a whole number from ${least} to ${most}`;
  return { must, holds: (value) => atoi(value) >= least && atoi(value) <= most };
}

export function numberAbove(least: number, most = Infinity): ValueRule {
  const must = most === Infinity ? `a number above ${least}` : `a number above ${least} and of at most ${most}`;
  return { must, holds: (value) => atof(value) > least && atof(value) <= most };
}

export const amount: ValueRule = { must: 'a whole number', holds: (value) => wholeNumber(value) !== undefined };

export const fraction: ValueRule = { must: 'a number', holds: (value) => decimal(value) !== undefined };

export function oneOf(...values: readonly string[]): ValueRule {
  return { must: `one of ${values.join(', ')}`, holds: (value) => values.includes(value) };
}
