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

type Part = Partial<Record<'labels' | 'annotations' | 'managedFields' | 'ownerReferences', unknown>>;

/** Owned: the replicas, and one of the labels. */
function applied(metadata: Part = {}, spec: object = {}, status: object = {}): KubernetesObject {
  const fieldsV1 = { 'f:metadata': { 'f:labels': { 'f:ours': {} } }, 'f:spec': { 'f:replicas': {} } };
  const managedFields = [{ manager: 'memcached-operator', operation: 'Apply', fieldsV1 }];
  const form = deployment({ generation: 1 });
  const labels = { ours: 'a', theirs: 'b' };
  return {
    ...form,
    metadata: { ...form.metadata, labels, managedFields, ...metadata },
    spec: { replicas: 3, ...spec },
    status,
  } as KubernetesObject;
}

test.each<[string, KubernetesObject, boolean]>([
  ['a status', applied({}, {}, { readyReplicas: 1 }), true],
  ['a label of others', applied({ labels: { ours: 'a', theirs: 'c' } }), true],
  ['a label of ours', applied({ labels: { ours: 'x', theirs: 'b' } }), false],
  ['the spec', applied({}, { replicas: 4 }), false],
  ['what is ours of it', applied({ managedFields: [] }), false],
])('a fingerprint is the same whether the object was seen before or not: %s', (_, changed, isSame) => {
  const before = observeChild(applied());
  const after = observeChild(changed, before);
  expect(after.fingerprint).toBe(observeChild(changed).fingerprint);
  expect(after.fingerprint === before.fingerprint).toBe(isSame);
});

test.each([
  [[], undefined, undefined],
  [[{ uid: 'uid-1' }], 'uid-1', undefined],
  [[{ uid: 'uid-1' }, { uid: 'uid-2', controller: false }], 'uid-1', true],
  [[{ uid: 'uid-1', kind: 'ConfigMap' }], undefined, undefined],
  [[{ uid: 'uid-1', apiVersion: 'other/v1' }], undefined, undefined],
])('knows its owner by %j', (references, ownerUid, hasCoOwners) => {
  const owner = { apiVersion: 'memcached.c5c3.io/v1alpha1', kind: 'Memcached', name: 'x', controller: true };
  const ownerReferences = references.map((reference) => ({ ...owner, ...reference }));
  const seen = observeChild(applied({ ownerReferences }));
  expect([seen.ownerUid, seen.hasCoOwners]).toEqual([ownerUid, hasCoOwners]);
});
