import { expect, test } from 'vitest';
import { imageVersion } from './image-version.ts';

test.each([
  ['memcached:1.6', '1.6'],
  ['registry.example.com:5000/cache/memcached:1.6.45-alpine', '1.6.45-alpine'],
  [`memcached:1.6@sha256:${'0'.repeat(64)}`, '1.6'],
  [`memcached@sha256:${'0'.repeat(64)}`, undefined],
  ['memcached', undefined],
  ['registry.example.com:5000/memcached', undefined],
  ['memcached:_local', undefined],
  ['memcached:1.6-', undefined],
  [`memcached:${'1'.repeat(63)}`, '1'.repeat(63)],
  [`memcached:${'1'.repeat(64)}`, undefined],
  ['', undefined],
])('%s', (image, version) => {
  expect(imageVersion(image)).toBe(version);
});
