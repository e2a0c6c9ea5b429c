/** Features switched on and off: in the end there is exactly what the last spec wants, and nothing of others is touched. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { type Memcached, type MemcachedSpec, memcachedKind } from '../../src/api/index.ts';
import { autoscalerKind } from '../../src/children/autoscaler.ts';
import { disruptionBudgetKind } from '../../src/children/disruption-budget.ts';
import { children } from '../../src/children/index.ts';
import { networkPolicyKind } from '../../src/children/network-policy.ts';
import { serviceMonitorKind } from '../../src/children/service-monitor.ts';
import type { Kind, KubernetesObject } from '../../src/kubernetes/object.ts';
import { chosenSeed, randomFrom } from '../support/fault-proxy/random.ts';
import {
  change,
  conditions,
  createReady,
  eventsOf,
  find,
  getMemcached,
  isReady,
  memcached,
  message,
  NAMESPACE,
  ownPart,
  stage,
  until,
  withoutRecords,
} from '../support/memcacheds.ts';
import { certificate, putSecret, random as randomWord } from '../support/secrets.ts';
import { installServiceMonitors } from '../support/service-monitors.ts';

const at = stage({ name: 'test-toggles', form: 'fake', fakeNodes: 4 });

afterEach(() => at.operator.assertAlive());
beforeAll(() => installServiceMonitors(at.cluster, at.signal));

const budget = (podDisruptionBudget: object) => ({ highAvailability: { podDisruptionBudget } });

/** What each feature looks like when it is off, and when it is on, as changes of a spec. */
const features: readonly (readonly object[])[] = [
  [
    budget({ enabled: false }),
    budget({ enabled: true, minAvailable: 1, maxUnavailable: null }),
    budget({ enabled: true, maxUnavailable: '50%', minAvailable: null }),
  ],
  [
    { monitoring: null },
    { monitoring: { enabled: true } },
    { monitoring: { enabled: true, serviceMonitor: { interval: '15s' } } },
  ],
  [
    { networkPolicy: null },
    { networkPolicy: { enabled: true } },
    { networkPolicy: { enabled: true, allowedSources: [{ podSelector: { matchLabels: { app: 'x' } } }] } },
  ],
  [
    { autoscaling: null, replicas: 3 },
    { autoscaling: { enabled: true, minReplicas: 3, maxReplicas: 5 }, replicas: null },
  ],
  [
    { security: { tls: null } },
    { security: { tls: { enabled: true, certificateSecretRef: { name: 'credentials' } } } },
    { security: { tls: { enabled: true, enableClientCert: true, certificateSecretRef: { name: 'credentials' } } } },
  ],
  [
    { security: { sasl: null } },
    { security: { sasl: { enabled: true, credentialsSecretRef: { name: 'credentials' } } } },
  ],
  [{ service: null }, { service: { annotations: { a: 'b' } } }],
  [{ highAvailability: { antiAffinityPreset: 'soft' } }, { highAvailability: { antiAffinityPreset: 'hard' } }],
  [
    { highAvailability: { gracefulShutdown: null } },
    { highAvailability: { gracefulShutdown: { enabled: true } } },
    { highAvailability: { gracefulShutdown: { enabled: false } } },
  ],
];

const BASIS: MemcachedSpec = { replicas: 3, resources: { requests: { cpu: '100m', memory: '128Mi' } } };

/** What the operator has set of each child that there is, as if the Memcached had another name. */
async function childrenOf(name: string): Promise<Record<string, string>> {
  const { metadata } = await getMemcached(at, name);
  const found = await Promise.all(
    children
      .filter(({ followsPods }) => !followsPods) // which differ from one to the other
      .map(async ({ kind }) => [kind.kind, await find<KubernetesObject>(at, kind, name)] as const),
  );
  const entries = found.flatMap(([kind, object]) => {
    if (!object) return [];
    const { spec, ...own } = ownPart(object) as { spec: Record<string, unknown> };
    const text = JSON.stringify({ ...own, spec: { ...spec, replicas: undefined } }, sorted);
    return [[kind, text.replaceAll(name, '<name>').replaceAll(metadata.uid ?? '', '<uid>')] as const];
  });
  return Object.fromEntries(entries);
}

/** Names in order, whatever order they came in. */
function sorted(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

test('200 steps in random order end with what the last spec wants', { timeout: 900_000 }, async ({ signal }) => {
  const seed = chosenSeed();
  console.log(`SEED=${seed}`);
  const random = randomFrom(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const { certificate: crt, key } = certificate();
  const ca = certificate({ isAuthority: true }).certificate;
  const users = Array.from({ length: 9 }, (_, index) => `twin-${index}`).concat('toggled');
  const database = users.map((name) => `user@${name}:${randomWord()}\n`).join('');
  await putSecret(at, 'credentials', { 'tls.crt': crt, 'tls.key': key, 'ca.crt': ca, 'memcached-sasl-db': database });
  await createReady(at, memcached('toggled', BASIS), signal);
  const pauses = [0, 0, 5, 50, 300];
  for (let step = 1; step <= 200; step += 1) {
    await change(at, 'toggled', { spec: pick(pick(features)) });
    await sleep(pick(pauses));
    if (step % 25 > 0) continue;
    const { value } = await until(at, 'it is ready', () => getMemcached(at, 'toggled'), isReady, signal);
    const twin = `twin-${step / 25}`;
    await createReady(at, memcached(twin, value.spec), signal);
    const [toggled, fresh] = [await childrenOf('toggled'), await childrenOf(twin)];
    console.log(`after ${step} steps: ${Object.keys(toggled).join(', ')}`);
    expect(toggled).toEqual(fresh);
    await at.client.delete(memcachedKind, twin, NAMESPACE);
  }
});

const labels = { 'app.kubernetes.io/managed-by': 'memcached-operator' };
const selector = { matchLabels: { app: 'theirs' } };

const foreign: readonly (readonly [Kind, object, object])[] = [
  [disruptionBudgetKind, { minAvailable: 1, selector }, budget({ enabled: true, minAvailable: 1 })],
  [networkPolicyKind, { podSelector: selector }, { networkPolicy: { enabled: true } }],
  [
    autoscalerKind,
    { maxReplicas: 9, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'theirs' } },
    { replicas: null, autoscaling: { enabled: true, minReplicas: 3, maxReplicas: 5 } },
  ],
  [serviceMonitorKind, { selector, endpoints: [{ port: 'x' }] }, { monitoring: { enabled: true } }],
];
const OFF = { ...budget({ enabled: false }), networkPolicy: null, autoscaling: null, replicas: 3, monitoring: null };

/** But for what controllers say about it. */
function content(object: KubernetesObject | undefined): unknown {
  return object && withoutRecords(object);
}

test.for(
  foreign.flatMap(([kind, spec, on]) =>
    [true, false].map((isLabelled) => [kind.kind, isLabelled, kind, spec, on] as const),
  ),
)(
  '%s of somebody else (with our label: %s) is neither changed nor deleted',
  async ([title, isLabelled, kind, spec, on], { signal }) => {
    const name = `taken-${title.toLowerCase()}-${isLabelled ? 'labelled' : 'plain'}`;
    const { apiVersion } = kind;
    const metadata = { name, namespace: NAMESPACE, ...(isLabelled && { labels }) };
    const created = await at.client.create<KubernetesObject>(kind, {
      apiVersion,
      kind: title,
      metadata,
      spec,
    } as KubernetesObject);
    await createReady(at, memcached(name, BASIS), signal);
    await change(at, name, { spec: on });
    const look = () => getMemcached(at, name);
    const isTold = (seen: Memcached) => conditions(seen)['Degraded'] === 'True/ResourceConflict';
    const { value } = await until(at, 'it is told', look, isTold, signal);
    expect(message(value, 'Degraded')).toContain(`${title} ${name}`);
    await change(at, name, { spec: OFF });
    await until(at, 'nothing is wrong any more', look, isReady, signal);
    expect(content(await find(at, kind, name))).toEqual(content(created));
    expect((await eventsOf(at, name)).filter((event) => event.startsWith('Deleted'))).toEqual([]);
  },
);

test('a child that was given to somebody else is his', async ({ signal }) => {
  await createReady(at, memcached('given', { ...BASIS, ...budget({ enabled: true, minAvailable: 1 }) }), signal);
  const body = [{ op: 'remove', path: '/metadata/ownerReferences' }];
  const given = await at.client.patch<KubernetesObject>(disruptionBudgetKind, 'given', NAMESPACE, {
    type: 'json',
    body,
  });
  await change(at, 'given', { spec: budget({ enabled: false }) });
  await until(at, 'nothing is wrong', () => getMemcached(at, 'given'), isReady, signal);
  await sleep(1000);
  expect(content(await find(at, disruptionBudgetKind, 'given'))).toEqual(content(given));
});
