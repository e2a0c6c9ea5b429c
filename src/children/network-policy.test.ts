import { expect, test } from 'vitest';
import { example } from './example.ts';
import { networkPolicyFor } from './network-policy.ts';
import type { Surroundings } from './surroundings.ts';

const client = { podSelector: { matchLabels: { app: 'my-app' } } };
const prometheus = { namespaceSelector: { matchLabels: { team: 'monitoring' } } };
const operator = { namespace: 'memcached-operator-system', labels: { 'control-plane': 'controller-manager' } };
const operatorPods = {
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'memcached-operator-system' } },
  podSelector: { matchLabels: { 'control-plane': 'controller-manager' } },
};

const servers = [{ port: 11211, protocol: 'TCP' }];
const metrics = [{ port: 9150, protocol: 'TCP' }];

function rules(networkPolicy: object, surroundings: Surroundings, isMonitored: boolean): unknown {
  const spec = { monitoring: { enabled: isMonitored }, networkPolicy: { enabled: true, ...networkPolicy } };
  return networkPolicyFor(example(spec), surroundings)?.spec.ingress;
}

test.each<[string, object, Surroundings, boolean, unknown]>([
  ['no sources: everyone is a client', {}, {}, false, [{ ports: servers }]],
  ['no sources: the operator is one of everyone', { allowedSources: [] }, { operator }, false, [{ ports: servers }]],
  ['sources', { allowedSources: [client] }, {}, false, [{ from: [client], ports: servers }]],
  [
    'the operator reaches the servers as well as clients do',
    { allowedSources: [client] },
    { operator },
    false,
    [
      { from: [client], ports: servers },
      { from: [operatorPods], ports: servers },
    ],
  ],
  [
    'metrics are not held to the sources of clients',
    { allowedSources: [client] },
    {},
    true,
    [{ from: [client], ports: servers }, { ports: metrics }],
  ],
  [
    'metrics have sources of their own',
    { allowedMetricsSources: [prometheus] },
    {},
    true,
    [{ ports: servers }, { from: [prometheus], ports: metrics }],
  ],
  [
    'without monitoring there is nothing to scrape',
    { allowedMetricsSources: [prometheus] },
    {},
    false,
    [{ ports: servers }],
  ],
])('%s', (_, networkPolicy, surroundings, isMonitored, ingress) => {
  expect(rules(networkPolicy, surroundings, isMonitored)).toEqual(ingress);
});

test('holds for the servers, and for what comes in', () => {
  const { spec } = networkPolicyFor(example({ security: { networkPolicy: { enabled: true } } }), {}) ?? {};
  expect(spec).toMatchObject({
    podSelector: {
      matchLabels: {
        'app.kubernetes.io/name': 'memcached',
        'app.kubernetes.io/instance': 'my-cache',
        'app.kubernetes.io/managed-by': 'memcached-operator',
      },
    },
    policyTypes: ['Ingress'],
  });
});

test('there is none unless it is wanted', () => {
  expect(networkPolicyFor(example({ networkPolicy: { allowedSources: [client] } }), {})).toBeUndefined();
});
