import { expect, test } from 'vitest';
import type { Memcached, MemcachedStatus } from '../api/index.ts';
import { ApiError, type Client } from '../runtime/client/index.ts';
import { isDetail, isWorse, patienceMs, report } from './report.ts';

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

test.each<[string, number, string | undefined, string | undefined]>([
  ['a moment', 10_000, '2026-01-01T00:01:25Z', undefined],
  ['less than a minute', 40_000, '2026-01-01T00:00:50Z', undefined],
  ['long', 60_000, '2026-01-01T00:00:00Z', undefined],
  ['as long as it is there', 30_000, undefined, '2026-01-01T00:01:00Z'],
  ['not as long as it is there', 20_000, '2026-01-01T00:01:10Z', '2026-01-01T00:00:00Z'],
  ['who knows how long', 10_000, '2026-01-01T00:00:00+99:99', undefined],
  ['who knows how long, not created yet', 10_000, undefined, undefined],
])('who has not been ready for %s is looked at after %i ms', (_, expected, lastTransitionTime, creationTimestamp) => {
  const metadata = {
    name: 'cache',
    namespace: 'default',
    ...(creationTimestamp !== undefined && { creationTimestamp }),
  };
  const status = lastTransitionTime === undefined ? {} : { conditions: [{ ...condition, lastTransitionTime }] };
  expect(patienceMs({ metadata, status }, new Date('2026-01-01T00:01:30Z'))).toBe(expected);
});

type Value = 'True' | 'False';

test.each<[string, Value, Value, boolean]>([
  ['as before', 'True', 'False', false],
  ['no longer available', 'False', 'False', true],
  ['degraded', 'True', 'True', true],
])('who is %s does worse or not', (_, available, degraded, expected) => {
  const told = (one: Value, other: Value): MemcachedStatus => ({
    conditions: [
      { ...condition, type: 'Available', status: one },
      { ...condition, type: 'Degraded', status: other },
    ],
  });
  const good = told('True', 'False');
  expect(isWorse(good, told(available, degraded))).toBe(expected);
  expect(isWorse(told(available, degraded), good)).toBe(false);
  expect(isWorse(undefined, told(available, degraded))).toBe(false);
});

const memcached: Memcached = {
  apiVersion: 'memcached.c5c3.io/v1alpha1',
  kind: 'Memcached',
  metadata: { name: 'cache', namespace: 'default', uid: 'first' },
  spec: {},
};

/** A server that refuses the patch, and tells who has the name now. */
function refusing(status: number, holder: string | undefined): Pick<Client, 'patch' | 'get'> {
  const client = {
    patch: () => Promise.reject(new ApiError(status, {})),
    get: () =>
      holder === undefined
        ? Promise.reject(new ApiError(404, { reason: 'NotFound' }))
        : Promise.resolve({ metadata: { uid: holder } }),
  };
  return client as unknown as Pick<Client, 'patch' | 'get'>;
}

const { signal } = new AbortController();

test.each(['second', undefined])('nothing is reported to one whose name has passed on to: %s', async (holder) => {
  expect(await report(memcached, before, refusing(422, holder), signal)).toBeUndefined();
});

test('a status that the server cannot take is an error', async () => {
  await expect(report(memcached, before, refusing(422, 'first'), signal)).rejects.toThrow(ApiError);
  await expect(report(memcached, before, refusing(500, 'second'), signal)).rejects.toThrow(ApiError);
});
