import { expect, test } from 'vitest';
import { example } from './example.ts';
import { spreadConstraints } from './spreading.ts';

const zone = { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule' } as const;

test('a constraint that does not say which pods it counts counts these', () => {
  expect(spreadConstraints(example({ highAvailability: { topologySpreadConstraints: [zone] } }))).toEqual([
    {
      ...zone,
      labelSelector: {
        matchLabels: {
          'app.kubernetes.io/name': 'memcached',
          'app.kubernetes.io/instance': 'my-cache',
          'app.kubernetes.io/managed-by': 'memcached-operator',
        },
      },
    },
  ]);
});

test('one that says it is passed on as it is', () => {
  const constraint = { ...zone, labelSelector: { matchLabels: { team: 'platform' } }, minDomains: 2 };
  const memcached = example({ highAvailability: { topologySpreadConstraints: [constraint] } });
  expect(spreadConstraints(memcached)).toEqual([constraint]);
});
