import { expect, test } from 'vitest';
import type { MemcachedSpec } from '../api/index.ts';
import { deploymentFor } from '../children/deployment.ts';
import { example } from '../children/example.ts';
import type { Deployment } from '../kubernetes/deployment.ts';
import type { ObservedDeployment } from './observed.ts';
import { handOver, settlement, withFirstReplicas } from './replicas.ts';

const scaling: MemcachedSpec = { autoscaling: { enabled: true, minReplicas: 3, maxReplicas: 9 } };

function deployment(wanted: number, ownsReplicas: boolean): ObservedDeployment {
  return {
    generation: 1,
    observedGeneration: 1,
    wanted,
    total: wanted,
    updated: wanted,
    ready: wanted,
    available: wanted,
    isAvailable: true,
    deadlineExceeded: false,
    ownsReplicas,
    spec: 'digest',
    basis: 'digest',
  };
}

test.each([
  ['we let go', scaling, deployment(5, true), { replicas: 5, isNew: false }],
  ['we let go of none', scaling, deployment(0, true), { replicas: 3, isNew: true }],
  ['somebody else holds them', scaling, deployment(5, false), undefined],
  ['somebody else wants none', scaling, deployment(0, false), undefined],
  ['we hold on', { replicas: 4 }, deployment(5, true), undefined],
  ['there is no Deployment', scaling, undefined, undefined],
])('the replicas are handed over: %s', (_, spec, observed, expected) => {
  const memcached = example(spec);
  expect(handOver(deploymentFor(memcached, {}), observed, memcached)).toEqual(expected);
});

test('a new Deployment starts with the least number of servers', () => {
  const first = (spec: MemcachedSpec) => withFirstReplicas(deploymentFor(example(spec), {}), example(spec));
  expect(first(scaling)).toMatchObject({ spec: { replicas: 3 } });
  expect(first({ replicas: 0 })).toMatchObject({ spec: { replicas: 0 } });
  const fromOne = first({ autoscaling: { enabled: true, minReplicas: 1, maxReplicas: 9 } }) as Deployment;
  expect(fromOne.spec.replicas).toBeUndefined();
});

test.each<[string, MemcachedSpec, ObservedDeployment | undefined, boolean, object | undefined]>([
  [
    'on, with the old number left over',
    { ...scaling, replicas: 5 },
    deployment(5, true),
    false,
    { replicas: undefined },
  ],
  ['on, with another number', { ...scaling, replicas: 4 }, deployment(5, true), false, undefined],
  ['on from the beginning, with a number', { ...scaling, replicas: 4 }, undefined, false, undefined],
  ['on for long, and now a number', { ...scaling, replicas: 5 }, deployment(5, true), true, undefined],
  ['on, with the number of somebody else', { ...scaling, replicas: 5 }, deployment(5, false), false, undefined],
  ['on, without a number', scaling, deployment(5, true), false, undefined],
  ['off, without a number', {}, deployment(7, false), true, { replicas: 7 }],
  ['off, without a number, at none', {}, deployment(0, false), true, { replicas: 0 }],
  ['off, with a number', { replicas: 4 }, deployment(7, false), true, undefined],
  ['never on', {}, deployment(7, false), false, undefined],
  ['off, without servers', {}, undefined, true, undefined],
])('what the spec gets: %s', (_, spec, observed, hasAutoscaler, expected) => {
  expect(settlement({ ...example(), spec }, observed, hasAutoscaler)).toEqual(expected);
});
