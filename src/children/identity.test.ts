import { expect, test } from 'vitest';
import { example } from './example.ts';
import { childLabels, childMetadata, podSelector, selectorLabels, usersAnnotations } from './identity.ts';

const own = {
  'app.kubernetes.io/name': 'memcached',
  'app.kubernetes.io/instance': 'my-cache',
  'app.kubernetes.io/managed-by': 'memcached-operator',
};

test('the version is a label, but never selects', () => {
  const memcached = example({ image: 'registry:5000/memcached:1.6.45' });
  expect(childLabels(memcached)).toEqual({ ...own, 'app.kubernetes.io/version': '1.6.45' });
  expect(selectorLabels(memcached)).toEqual(own);
  expect(podSelector(memcached)).not.toContain('version');
});

test('labels of the user never replace ours, not even one that we leave out', () => {
  const users = { ...own, 'app.kubernetes.io/instance': 'other', 'app.kubernetes.io/version': '9', team: 'platform' };
  const digest = `memcached@sha256:${'0'.repeat(64)}`;
  expect(childLabels(example({ image: digest }), users)).toEqual({ ...own, team: 'platform' });
  expect(childLabels(example(), users)).toEqual({ ...own, 'app.kubernetes.io/version': '1.6', team: 'platform' });
});

test('annotations in the name of the operator are not the user’s to set', () => {
  const annotations = { 'memcached.c5c3.io/restart-trigger': 'x', 'example.com/a': 'b' };
  expect(usersAnnotations(annotations)).toEqual({ 'example.com/a': 'b' });
});

test('a child is owned by its Memcached', () => {
  expect(childMetadata(example())).toEqual({
    name: 'my-cache',
    namespace: 'default',
    labels: { ...own, 'app.kubernetes.io/version': '1.6' },
    annotations: {},
    ownerReferences: [
      {
        apiVersion: 'memcached.c5c3.io/v1alpha1',
        kind: 'Memcached',
        name: 'my-cache',
        uid: 'uid-1',
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  });
});
