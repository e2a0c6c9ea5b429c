import { expect, test } from 'vitest';
import { example } from '../children/example.ts';
import { deploymentKind } from '../children/index.ts';
import type { Kind } from '../kubernetes/object.ts';
import type { Outcome } from './application.ts';
import { deeds, news, troubles } from './happenings.ts';
import { observeChild } from './observed.ts';

const memcached = example();
const serviceKind: Kind = { ...deploymentKind, kind: 'Service' };
const created = (kind: Kind): Outcome => ({ step: { verb: 'create', kind, desired: memcached, fingerprint: '' } });

function degraded(reason: string, message = 'because', status: 'True' | 'False' = 'True') {
  return { conditions: [{ type: 'Degraded', status, reason, message, lastTransitionTime: '2025-01-01T00:00:00Z' }] };
}

test('what was done is told once for each verb', () => {
  const outcomes = [created(deploymentKind), created(serviceKind)];
  expect(deeds(outcomes).map(({ note }) => note)).toEqual(['Created Deployment, Service']);
});

test('what failed was not done', () => {
  const failed: Outcome = { ...created(serviceKind), fault: { reason: 'ApplyFailed', message: 'forbidden' } };
  expect(deeds([created(deploymentKind), failed]).map(({ note }) => note)).toEqual(['Created Deployment']);
});

test('what had happened by itself was not done', () => {
  const removed: Outcome = { step: { verb: 'delete', kind: serviceKind, observed: observeChild(memcached) } };
  expect(deeds([removed]).map(({ note }) => note)).toEqual(['Deleted Service']);
  expect(deeds([{ ...removed, isMoot: true }])).toEqual([]);
  expect(deeds([{ ...created(deploymentKind), isUnseen: true }])).toEqual([]);
});

test('a remark is told once', () => {
  const remark = { reason: 'MetricsUnavailable', message: 'no metrics' } as const;
  const ready = { type: 'Ready', status: 'True', reason: 'AllReplicasReady', lastTransitionTime: '' } as const;
  const said = (message: string) => ({ ...memcached, status: { conditions: [{ ...ready, message }] } });
  expect(news(said('all is well'), [remark]).map(({ note }) => note)).toEqual(['no metrics']);
  expect(news(said('all is well. no metrics'), [remark])).toEqual([]);
  expect(news(memcached, [])).toEqual([]);
});

test.each([
  ['a new trouble', {}, degraded('ResourceConflict'), 1],
  ['the same trouble', degraded('ResourceConflict'), degraded('ResourceConflict'), 0],
  ['the trouble has changed', degraded('ResourceConflict'), degraded('ResourceConflict', 'because of another'), 1],
  ['trouble again', degraded('ResourceConflict', 'because', 'False'), degraded('ResourceConflict'), 1],
  ['all is well again', degraded('ResourceConflict'), degraded('AllReplicasReady', '', 'False'), 0],
  ['pods come and go', {}, degraded('ReplicasNotReady'), 0],
])('%s', (_, before, now, count) => {
  expect(troubles({ ...memcached, status: before }, now)).toHaveLength(count);
});
