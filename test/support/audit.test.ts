import { expect, test } from 'vitest';
import { requestIn } from './audit.ts';

const line = (verb: string, stage: string, userAgent = 'memcached-operator/1.0.0') =>
  JSON.stringify({ stage, verb, userAgent, requestURI: '/api/v1/pods' });

test.each([
  ['patch', 'ResponseComplete', true],
  ['patch', 'RequestReceived', false],
  ['watch', 'ResponseStarted', true],
  ['watch', 'ResponseComplete', false],
])('a %s at %s counts: %s', (verb, stage, counts) => {
  expect(requestIn(line(verb, stage))?.verb).toBe(counts ? verb : undefined);
});

test('others do not count, unless it is they who are asked for', () => {
  const theirs = line('get', 'ResponseComplete', 'kubectl/v1.36.3');
  expect(requestIn(theirs)).toBeUndefined();
  expect(requestIn(theirs, 'kubectl/')?.requestURI).toBe('/api/v1/pods');
});
