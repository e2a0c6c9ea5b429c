/** Waits between tries. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { backoffMs } from './backoff.ts';

const backoff = { baseMs: 5, capMs: 300_000 };

test.for([
  { failures: 0, random: 0, ms: 2.5 },
  { failures: 0, random: 1, ms: 5 },
  { failures: 1, random: 1, ms: 10 },
  { failures: 10, random: 1, ms: 5120 },
  { failures: 16, random: 0.5, ms: 225_000 },
  { failures: 10_000, random: 1, ms: 300_000 },
])('after $failures failures, at chance $random: $ms ms', ({ failures, random, ms }) => {
  expect(backoffMs(backoff, failures, () => random)).toBe(ms);
});

test('chance never makes a wait shorter than the one before', () => {
  const chance = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
  fc.assert(
    fc.property(fc.nat(100), chance, chance, (failures, one, other) => {
      const [earlier, later] = [backoffMs(backoff, failures, () => one), backoffMs(backoff, failures + 1, () => other)];
      expect(later).toBeGreaterThanOrEqual(Math.min(earlier, backoff.capMs / 2));
    }),
  );
});
