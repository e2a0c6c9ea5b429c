import { expect, test } from 'vitest';
import { intervalOf } from './index.ts';

test.each<[string, 'True' | 'False', number]>([
  ['ready', 'True', 60_000],
  ['not ready for 20 s', 'False', 20_000],
])('servers of a Memcached that has been %s', (_, status, expected) => {
  const metadata = { name: 'cache', namespace: 'default' };
  const condition = { type: 'Ready', status, reason: 'Any', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
  const memcached = { metadata, status: { conditions: [{ ...condition, observedGeneration: 1 }] } } as const;
  expect(intervalOf(memcached, new Date('2026-01-01T00:00:20Z'))).toBe(expected);
});
