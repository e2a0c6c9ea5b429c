import { expect, test } from 'vitest';
import type { ContainerState, Pod } from '../kubernetes/pod.ts';
import { podProblem } from './pod-problem.ts';

function pod(status: NonNullable<Pod['status']>, metadata: Partial<Pod['metadata']> = {}): Pod {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'cache-1', ...metadata }, spec: {}, status };
}

function container(state: ContainerState, lastState: ContainerState = {}): Pod {
  return pod({ containerStatuses: [{ name: 'memcached', image: 'memcached:1.6', state, lastState }] });
}

const ready = { type: 'Ready', status: 'True' };

test.each<[string, Pod, string | undefined]>([
  ['serves', pod({ conditions: [ready] }), undefined],
  ['is just starting', container({ waiting: { reason: 'ContainerCreating' } }), undefined],
  ['runs and is not ready yet', container({ running: {} }), undefined],
  ['is being deleted', pod({ phase: 'Failed' }, { deletionTimestamp: '2025-01-01T00:00:00Z' }), undefined],
  ['has no status yet', { ...pod({}), status: {} }, undefined],
  [
    'image',
    container({ waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image' } }),
    'image "memcached:1.6" cannot be pulled (ImagePullBackOff: Back-off pulling image): check the image\'s name and spec.imagePullSecrets',
  ],
  [
    'crash with last words',
    container(
      { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } },
      { terminated: { exitCode: 64, message: 'starting\nItem max size cannot be less than 1024 bytes.\n' } },
    ),
    'memcached ended with exit code 64, saying "Item max size cannot be less than 1024 bytes.": check spec.memcached and its extraArgs',
  ],
  [
    'out of memory',
    {
      ...container({ running: {} }, { terminated: { exitCode: 137, reason: 'OOMKilled' } }),
      spec: {
        containers: [
          { name: 'memcached', args: ['-m', '64', '-c', '1024'], resources: { limits: { memory: '96Mi' } } },
        ],
      },
    },
    'memcached was killed for using more memory than its limit of 96Mi: set spec.resources.limits.memory to 127Mi or more, or lower spec.memcached.maxMemoryMB',
  ],
  [
    'unschedulable',
    pod({ conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/2 nodes' }] }),
    'no node takes it (0/2 nodes): add a node, lower spec.resources.requests, or relax what ties it to nodes',
  ],
  [
    'missing Secret',
    container({ waiting: { reason: 'CreateContainerConfigError', message: 'secret "x" not found' } }),
    'memcached cannot be started (CreateContainerConfigError: secret "x" not found)',
  ],
  ['evicted', pod({ phase: 'Failed', reason: 'Evicted' }), 'it failed (Evicted): see `kubectl describe pod cache-1`'],
])('%s', (_, seen, problem) => {
  expect(podProblem(seen)).toBe(problem);
});

test('a message of any length fits into a condition', () => {
  const seen = container({ waiting: { reason: 'CreateContainerError', message: 'x\n'.repeat(10_000) } });
  expect(podProblem(seen)?.length).toBeLessThan(300);
});
