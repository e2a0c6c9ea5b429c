import { expect, test } from 'vitest';
import { type Pod, troubleOf } from './rollout.ts';

const fine = { status: {} };

function pod(status: Pod['status'], metadata: Partial<Pod['metadata']> = {}): Pod {
  return { metadata: { name: 'manager-1', ...metadata }, status };
}

function waiting(reason: string, restartCount = 0, message?: string): Pod {
  const state = { waiting: { reason, ...(message !== undefined && { message }) } };
  return pod({ containerStatuses: [{ ready: false, restartCount, state }] });
}

test.each([
  ['no pod yet', []],
  ['a pod that is being made', [waiting('ContainerCreating')]],
  [
    'a pod that runs and is not ready yet',
    [pod({ containerStatuses: [{ ready: false, restartCount: 0, state: {} }] })],
  ],
  ['a pod that is ready', [pod({ containerStatuses: [{ ready: true, restartCount: 7, state: {} }] })]],
  [
    'a pod that is on its way out',
    [{ ...waiting('ImagePullBackOff'), metadata: { name: 'old', deletionTimestamp: 'x' } }],
  ],
])('%s is no trouble', (_, pods) => {
  expect(troubleOf(fine, pods)).toBeUndefined();
});

test.each([
  ['ErrImagePull', 0, false],
  ['ImagePullBackOff', 0, true],
  ['InvalidImageName', 0, true],
  ['CreateContainerConfigError', 0, true],
  ['CrashLoopBackOff', 1, false],
  ['CrashLoopBackOff', 2, true],
])('a pod in %s after %i restarts: hopeless is %s', (reason, restarts, isFinal) => {
  const text = `manager-1: ${reason} because`;
  expect(troubleOf(fine, [waiting(reason, restarts, 'because')])).toEqual({ pod: 'manager-1', text, isFinal });
});

test('a pod that no node takes may still find one', () => {
  const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/2 nodes' }];
  const text = 'no node takes manager-1: 0/2 nodes';
  expect(troubleOf(fine, [pod({ conditions })])).toEqual({ pod: 'manager-1', text, isFinal: false });
});

test('pods that are refused will be refused again', () => {
  const conditions = [{ type: 'ReplicaFailure', status: 'True', message: 'violates PodSecurity' }];
  const text = 'pods cannot be created: violates PodSecurity';
  expect(troubleOf({ status: { conditions } }, [])).toEqual({ text, isFinal: true });
});
