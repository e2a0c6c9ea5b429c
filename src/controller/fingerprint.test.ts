import { expect, test } from 'vitest';
import type { KubernetesObject } from '../kubernetes/object.ts';
import { observedFingerprint, wantedFingerprint } from './fingerprint.ts';

const wanted = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'x', namespace: 'n', labels: { a: 'b' } },
  spec: {
    replicas: 2,
    template: {
      spec: {
        containers: [
          { name: 'memcached', args: ['-m', '64'], resources: { limits: { cpu: '0.5', memory: '1024Mi' } } },
        ],
        securityContext: { runAsNonRoot: true },
      },
    },
  },
};

const fields = {
  'f:metadata': { 'f:labels': { 'f:a': {} } },
  'f:spec': {
    'f:replicas': {},
    'f:template': {
      'f:spec': {
        'f:containers': {
          'k:{"name":"memcached"}': {
            '.': {},
            'f:name': {},
            'f:args': {},
            'f:resources': { 'f:limits': { 'f:cpu': {}, 'f:memory': {} } },
          },
        },
        'f:securityContext': { 'f:runAsNonRoot': {} },
      },
    },
  },
};

/** The object as the server stores it: with defaults, a foreign container and label, and quantities in its own words. */
function stored(changes: object = {}, ours: object = fields): KubernetesObject {
  const container = {
    name: 'memcached',
    args: ['-m', '64'],
    imagePullPolicy: 'Always',
    resources: { limits: { cpu: '500m', memory: '1Gi' } },
    ...changes,
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: 'x',
      namespace: 'n',
      uid: 'u',
      labels: { a: 'b', foreign: 'yes' },
      managedFields: [
        { manager: 'someone', operation: 'Apply', fieldsV1: { 'f:spec': { 'f:paused': {} } } },
        { manager: 'us', operation: 'Apply', fieldsV1: ours },
      ],
    },
    spec: {
      replicas: 2,
      revisionHistoryLimit: 10,
      template: { spec: { containers: [{ name: 'sidecar' }, container], securityContext: { runAsNonRoot: true } } },
    },
  } as unknown as KubernetesObject;
}

test('what the server stored of an apply has the fingerprint of the wanted object', () => {
  expect(observedFingerprint(stored(), 'us')).toBe(wantedFingerprint(wanted));
});

test.each([
  ['a changed value', stored({ args: ['-m', '128'] })],
  ['a changed quantity', stored({ resources: { limits: { cpu: '501m', memory: '1Gi' } } })],
  ['a field that somebody else has taken', stored({}, { ...fields, 'f:metadata': {} })],
  [
    'a field that we no longer want',
    stored({}, { ...fields, 'f:spec': { ...fields['f:spec'], 'f:revisionHistoryLimit': {} } }),
  ],
  ['nothing that is ours', stored({}, {})],
])('%s gives another one', (_, object) => {
  expect(observedFingerprint(object, 'us')).not.toBe(wantedFingerprint(wanted));
});

test('set to nothing is not the same as not set', () => {
  const isFalse = {
    ...wanted,
    spec: { ...wanted.spec, template: { spec: { ...wanted.spec.template.spec, hostNetwork: false } } },
  };
  expect(wantedFingerprint(isFalse)).not.toBe(wantedFingerprint(wanted));
});

test.each([
  ['averageValue', { metrics: [{ pods: { target: { averageValue: '1.5Gi' } } }] }, '1536Mi', '1.5Gi'],
  ['value of a target', { metrics: [{ object: { target: { value: '0.5' } } }] }, '500m', '0.5'],
  ['tolerance', { behavior: { scaleUp: { tolerance: '0.05' } } }, '50m', '0.05'],
])('the %s of an autoscaler is a quantity', (_, spec, other, given) => {
  const print = (text: string) => {
    const object = JSON.parse(JSON.stringify(spec).replace(given, text)) as object;
    return wantedFingerprint({ ...wanted, spec: object } as KubernetesObject);
  };
  expect(print(other)).toBe(print(given));
  expect(print('7')).not.toBe(print(given));
});

test.each([12, 300])('%d names may come in any order, items of lists may not', (length) => {
  const names = Array.from({ length }, (_, index) => `${(index * 7) % length}th`);
  const print = (spec: object) => wantedFingerprint({ ...wanted, spec } as KubernetesObject);
  const mapOf = (keys: readonly string[]) => Object.fromEntries(keys.map((key) => [key, `value of ${key}`]));
  expect(print({ map: mapOf(names) })).toBe(print({ map: mapOf(names.toSorted()) }));
  expect(print({ list: names })).not.toBe(print({ list: names.toSorted() }));
});

test.each<[string, object, object]>([
  ['a map and a list', { x: { a: 'b' } }, { x: ['a', 'b'] }],
  ['a map and a list that begins with zero', { x: { a: 'b' } }, { x: [0, 'a', 'b'] }],
  ['one map and another', { x: { a: 'b', c: 'd' } }, { x: { a: { b: 'c' } } }],
  ['a word and a number', { x: '1' }, { x: 1 }],
  ['a word and a truth', { x: 'true' }, { x: true }],
])('%s are not the same', (_, one, other) => {
  const print = (spec: object) => wantedFingerprint({ ...wanted, spec } as KubernetesObject);
  expect(print(one)).not.toBe(print(other));
});

test('other values are words', () => {
  const tolerating = (value: string) =>
    wantedFingerprint({ ...wanted, spec: { tolerations: [{ key: 'a', value }] } } as KubernetesObject);
  expect(tolerating('0.5')).not.toBe(tolerating('500m'));
});
