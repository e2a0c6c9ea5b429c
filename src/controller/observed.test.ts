import { expect, test } from 'vitest';
import type { KubernetesObject } from '../kubernetes/object.ts';
import { observeChild } from './observed.ts';

interface Form {
  readonly generation: number;
  readonly replicas?: number;
  readonly uid?: string;
  readonly manager?: string;
}

function deployment({ generation, replicas = 3, uid = 'uid-1', manager = 'memcached-operator' }: Form) {
  const fieldsV1 = { 'f:spec': { 'f:replicas': {} } };
  const managedFields = [{ manager, operation: 'Apply', fieldsV1 }];
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'x', namespace: 'default', uid, generation, managedFields },
    spec: { replicas, template: {} },
    status: { observedGeneration: 4 },
  } as KubernetesObject;
}

test.each([
  ['an annotation', { generation: 5 }, 4],
  ['another spec', { generation: 5, replicas: 4 }, 5],
  ['made anew', { generation: 1, uid: 'uid-2' }, 1],
])('the generation is that of the spec: %s', (_, form, expected) => {
  const before = observeChild(deployment({ generation: 4 }));
  expect(before.deployment?.generation).toBe(4);
  expect(observeChild(deployment(form), before).deployment?.generation).toBe(expected);
});

test('knows whose the replicas are', () => {
  expect(observeChild(deployment({ generation: 1 })).deployment?.ownsReplicas).toBe(true);
  expect(observeChild(deployment({ generation: 1, manager: 'hpa' })).deployment?.ownsReplicas).toBe(false);
});
