import { expect, test } from 'vitest';
import { Problem } from '../problem.ts';
import { requireCurrent } from './memcached.ts';

test.each([
  'memcached_1.6.45.orig.tar.xz',
  'memcached_1.6.100+dfsg.orig.tar.gz',
  'memcached_1.7.0.orig.tar.gz',
  'memcached_2.0.0.orig.tar.gz',
])('%s is new enough', (tar) => expect(() => requireCurrent(tar)).not.toThrow());

test.each(['memcached_1.6.44.orig.tar.xz', 'memcached_1.5.99.orig.tar.gz', 'memcached_0.9.9.orig.tar.gz', ''])(
  '%j is refused',
  (tar) => expect(() => requireCurrent(tar)).toThrow(Problem),
);
