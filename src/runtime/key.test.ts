/** Keys, there and back. */
import { expect, test } from 'vitest';
import { keyOf, partsOf } from './key.ts';

test.for([
  { parts: { namespace: 'team', name: 'cache' }, key: 'team/cache' },
  { parts: { name: 'memcacheds.memcached.c5c3.io' }, key: 'memcacheds.memcached.c5c3.io' },
])('$key', ({ parts, key }) => {
  expect(keyOf({ metadata: parts })).toBe(key);
  expect(partsOf(key)).toEqual(parts);
});
