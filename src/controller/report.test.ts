import { expect, test } from 'vitest';
import type { MemcachedStatus } from '../api/index.ts';
import { isDetail } from './report.ts';

const condition = {
  type: 'Ready',
  status: 'False',
  reason: 'ReplicasNotReady',
  message: '0 of 2 replicas are ready',
  lastTransitionTime: '2026-01-01T00:00:00Z',
  observedGeneration: 1,
} as const;
const before: MemcachedStatus = { replicas: 2, readyReplicas: 0, observedGeneration: 1, conditions: [condition] };

test.each<[string, MemcachedStatus, boolean]>([
  ['nothing', {}, false],
  ['a number', { readyReplicas: 1, currentConnections: 7, hitRatio: '0.50' }, true],
  ['a message', { conditions: [{ ...condition, message: '1 of 2 replicas are ready' }] }, true],
  ['a reason', { conditions: [{ ...condition, reason: 'SecretNotFound' }] }, false],
  ['a status', { conditions: [{ ...condition, status: 'True' }] }, false],
  ['what it speaks of', { conditions: [{ ...condition, observedGeneration: 2 }] }, false],
  ['a generation that is carried out', { observedGeneration: 2 }, false],
  ['replicas, and with them the names of servers', { replicas: 3 }, false],
])('what can wait: %s', (_, changes, expected) => {
  expect(isDetail(before, { ...before, ...changes })).toBe(expected);
});

test('the first status does not wait', () => {
  expect(isDetail(undefined, before)).toBe(false);
});
