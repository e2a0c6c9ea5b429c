/** What keeps children from being as they should be is told in the server's own words, hides nothing else, and is forgotten when it goes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { annotation, type Memcached, type MemcachedSpec, memcachedKind, withDefaults } from '../../src/api/index.ts';
import { autoscalerKind } from '../../src/children/autoscaler.ts';
import { disruptionBudgetKind } from '../../src/children/disruption-budget.ts';
import { endpointSliceKind } from '../../src/children/endpoint-slice.ts';
import { children, deploymentKind } from '../../src/children/index.ts';
import { networkPolicyKind } from '../../src/children/network-policy.ts';
import { serviceKind } from '../../src/children/service.ts';
import type { Deployment } from '../../src/kubernetes/deployment.ts';
import type { Kind, KubernetesObject } from '../../src/kubernetes/object.ts';
import {
  change,
  conditions,
  createReady,
  eventsOf,
  find,
  getDeployment,
  getMemcached,
  getService,
  isReady,
  isUpToDate,
  memcached,
  message,
  NAMESPACE,
  stage,
  Trail,
  until,
} from '../support/memcacheds.ts';
import { installServiceMonitors } from '../support/service-monitors.ts';
import { Versions } from '../support/versions.ts';

/** Those that are there whatever becomes of the pods. */
const ofSpec = children.filter(({ followsPods }) => !followsPods);

const at = stage({ name: 'test-obstacles', form: 'fake', fakeNodes: 3 });

afterEach(() => at.operator.assertAlive());
beforeAll(() => installServiceMonitors(at.cluster, at.signal));

/** A spec that wants a child of every kind. */
const EVERYTHING: MemcachedSpec = {
  resources: { requests: { cpu: '100m', memory: '128Mi' } },
  highAvailability: { podDisruptionBudget: { enabled: true, minAvailable: 1 } },
  monitoring: { enabled: true },
  networkPolicy: { enabled: true },
  autoscaling: { enabled: true, minReplicas: 2, maxReplicas: 4 },
};

const isDegraded = (reason: string) => (seen: Memcached) =>
  isUpToDate(seen) && conditions(seen)['Degraded'] === `True/${reason}`;

const groupOf = ({ apiVersion }: Kind) => (apiVersion.includes('/') ? apiVersion.split('/')[0] : '');

/** Refuses what bears this name, when somebody wants to do that to it. */
function policy(name: string, kind: Kind, operations: readonly string[]): string {
  const rule = { apiGroups: [groupOf(kind)], apiVersions: ['*'], operations, resources: [kind.plural] };
  const subject = operations.includes('DELETE') ? 'oldObject' : 'object';
  const expression = `!${subject}.metadata.name.startsWith('${name}')`;
  const api = { apiVersion: 'admissionregistration.k8s.io/v1', metadata: { name } };
  const items = [
    {
      ...api,
      kind: 'ValidatingAdmissionPolicy',
      spec: {
        matchConstraints: { resourceRules: [rule] },
        validations: [{ expression, message: `${kind.plural} are not welcome` }],
      },
    },
    {
      ...api,
      kind: 'ValidatingAdmissionPolicyBinding',
      spec: { policyName: name, validationActions: ['Deny'] },
    },
  ];
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
}

/** It takes a moment to be enforced: some try shows when. */
async function enforce(text: string, tryIt: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  await at.cluster.kubectl(['apply', '-f', '-'], { input: text });
  const outcome = () =>
    tryIt().then(
      () => 'admitted',
      (error: unknown) => String(error),
    );
  await until(at, 'the policy is enforced', outcome, (said) => said.includes('not welcome'), signal);
}

const lift = (name: string) =>
  at.cluster.kubectl(['delete', 'validatingadmissionpolicy,validatingadmissionpolicybinding', name]);

/** Makes a child of that kind for a Memcached of that name, but not really. */
function dryCreate(kind: Kind, name: string): Promise<unknown> {
  const owner = withDefaults(memcached(name, EVERYTHING, { uid: 'none' }));
  const object = children.find((child) => child.kind === kind)?.build(owner, {});
  return at.cluster.kubectl(['create', '-f', '-', '--dry-run=server'], { input: JSON.stringify(object) });
}

async function present(name: string): Promise<string[]> {
  const found = await Promise.all(ofSpec.map(async ({ kind }) => ((await find(at, kind, name)) ? [kind.kind] : [])));
  return found.flat();
}

const every = ofSpec.map(({ kind }) => kind.kind);
const others = (kind: Kind) => every.filter((one) => one !== kind.kind);

describe('an admission policy', () => {
  test.for(ofSpec.map(({ kind }) => [kind.kind, kind] as const))(
    'that refuses a %s hides neither the others nor the status',
    async ([title, kind], { signal }) => {
      const name = `no-${title.toLowerCase()}`;
      await enforce(policy(name, kind, ['CREATE', 'UPDATE']), () => dryCreate(kind, `${name}-probe`), signal);
      await at.client.create(memcachedKind, memcached(name, EVERYTHING));
      const look = () => getMemcached(at, name);
      const { value } = await until(at, 'it is told', look, isDegraded('ApplyFailed'), signal);
      console.log(message(value, 'Degraded'));
      expect(message(value, 'Degraded')).toContain(`${kind.plural} are not welcome`);
      expect(message(value, 'Degraded')).toContain(title);
      expect(conditions(value)).toMatchObject({ Ready: 'False/ApplyFailed' });
      expect(value.status?.observedGeneration).toBeUndefined();
      const all = others(kind);
      await until(
        at,
        'the others are there',
        () => present(name),
        ({ length }) => length >= all.length,
        signal,
      );
      expect(await present(name)).toEqual(all);

      await lift(name);
      const { ms } = await until(at, 'it recovers', look, isReady, signal);
      console.log(`ready ${Math.round(ms)} ms after the policy went`);
      expect(await present(name)).toEqual(every);
      const events = await eventsOf(at, name);
      expect(events.filter((event) => event.startsWith('ApplyFailed: '))).toHaveLength(1);
    },
  );

  test('that forbids to remove something', async ({ signal }) => {
    const kind = disruptionBudgetKind;
    const highAvailability = { podDisruptionBudget: { enabled: true, minAvailable: 1 } };
    await createReady(at, memcached('clings', { highAvailability, replicas: 2 }), signal);
    const tryIt = () => at.cluster.kubectl(['delete', 'pdb', 'clings', '--dry-run=server']);
    await enforce(policy('clings', kind, ['DELETE']), tryIt, signal);
    await change(at, 'clings', { spec: { highAvailability: null, replicas: 3 } });
    const look = () => getMemcached(at, 'clings');
    const { value } = await until(at, 'it is told', look, isDegraded('ApplyFailed'), signal);
    expect(message(value, 'Degraded')).toContain('poddisruptionbudgets are not welcome');
    await until(
      at,
      'the rest goes on',
      () => getDeployment(at, 'clings'),
      ({ spec }) => spec.replicas === 3,
      signal,
    );
    await lift('clings');
    const { ms } = await until(at, 'it recovers', look, isReady, signal);
    console.log(`ready ${Math.round(ms)} ms after the policy went`);
    expect(await find(at, kind, 'clings')).toBeUndefined();
  });

  test('that refuses names of servers keeps nobody from getting new ones', async ({ signal }) => {
    await createReady(at, memcached('nameless'), signal);
    const tryIt = () => at.cluster.kubectl(['label', 'endpointslice/nameless', 'a=b', '--dry-run=server']);
    await enforce(policy('nameless', endpointSliceKind, ['UPDATE']), tryIt, signal);
    await change(at, 'nameless', { spec: { image: 'memcached:1.6.18' } });
    const look = () => getMemcached(at, 'nameless');
    const { value } = await until(at, 'it is told', look, isDegraded('ApplyFailed'), signal);
    expect(message(value, 'Degraded')).toContain('endpointslices are not welcome');
    const image = async () => (await getDeployment(at, 'nameless')).spec.template.spec.containers[0]?.image;
    await until(at, 'there are new servers', image, (now) => now === 'memcached:1.6.18', signal);
    await lift('nameless');
    await until(at, 'it recovers', look, isReady, signal);
  });

  test('that refuses new servers is asked later and later, and said to be so all the time', async ({ signal }) => {
    await createReady(at, memcached('stays'), signal);
    const tryIt = () => at.cluster.kubectl(['label', 'deployment/stays', 'a=b', '--dry-run=server']);
    await enforce(policy('stays', deploymentKind, ['UPDATE']), tryIt, signal);
    await change(at, 'stays', { spec: { memcached: { verbosity: 1 } } });
    const look = () => getMemcached(at, 'stays');
    await until(at, 'it is told', look, isDegraded('ApplyFailed'), signal);
    const trail = await Trail.begin(at, 'stays', signal);
    await sleep(5000);
    expect(await trail.end(signal)).toHaveLength(4); // each condition once
    const failures = at.operator.logs.filter((line) => line.message === 'reconcile failed' && line['name'] === 'stays');
    console.log(`tried ${failures.length} times in five seconds`);
    expect(failures.length).toBeGreaterThan(3);
    expect(failures.length).toBeLessThan(20); // 5 ms, 10 ms, 20 ms, …
    await lift('stays');
    await until(at, 'it recovers', look, isReady, signal);
  });

  test('that keeps an autoscaler: nobody quarrels with it', async ({ signal }) => {
    const { resources = {} } = EVERYTHING;
    const autoscaling = { enabled: true, minReplicas: 3, maxReplicas: 9 };
    await createReady(at, memcached('quarrel', { resources, autoscaling }), signal);
    const count = ({ spec }: Deployment) => spec.replicas;
    const seen = await Versions.begin(at, deploymentKind, 'quarrel', count, signal);
    const tryIt = () => at.cluster.kubectl(['delete', 'hpa', 'quarrel', '--dry-run=server']);
    await enforce(policy('quarrel', autoscalerKind, ['DELETE']), tryIt, signal);
    await change(at, 'quarrel', { spec: { autoscaling: null, replicas: 2, service: { annotations: { a: 'b' } } } });
    const look = () => getMemcached(at, 'quarrel');
    const { value } = await until(at, 'it is told', look, isDegraded('ApplyFailed'), signal);
    expect(message(value, 'Degraded')).toContain('horizontalpodautoscalers are not welcome');
    expect((await getService(at, 'quarrel')).metadata.annotations).toMatchObject({ a: 'b' });
    expect(await seen.changes(signal)).toEqual([3]);
    await lift('quarrel');
    await until(at, 'it recovers', look, isReady, signal);
    expect(await seen.changes(signal)).toEqual([3, 2]);
  });

  test('two at once are both told', async ({ signal }) => {
    for (const [name, kind] of [
      ['both-a', serviceKind],
      ['both-b', networkPolicyKind],
    ] as const) {
      const text = policy(name, kind, ['CREATE', 'UPDATE']).replaceAll(`startsWith('${name}')`, "startsWith('both')");
      await enforce(text, () => dryCreate(kind, 'both-probe'), signal);
    }
    await at.client.create(memcachedKind, memcached('both', EVERYTHING));
    const look = () => getMemcached(at, 'both');
    const { value } = await until(at, 'it is told', look, isDegraded('ApplyFailed'), signal);
    console.log(message(value, 'Degraded'));
    expect(message(value, 'Degraded')).toMatch(
      /Service: .*services are not welcome.*; NetworkPolicy: .*networkpolicies are not/,
    );
    await lift('both-a');
    await lift('both-b');
    await until(at, 'it recovers', look, isReady, signal);
  });
});

describe('a quota', () => {
  test.for([
    ['services', serviceKind],
    ['count/deployments.apps', deploymentKind],
    ['count/poddisruptionbudgets.policy', disruptionBudgetKind],
  ] as const)('of no %s is told, and forgotten', async ([counted, kind], { signal }) => {
    const name = `none-${kind.kind.toLowerCase()}`;
    await at.cluster.kubectl(['create', 'quota', 'none-left', `--hard=${counted}=0`]);
    try {
      const tryIt = () =>
        dryCreate(kind, `${name}-probe`).then(
          () => 'admitted',
          (error: unknown) => String(error),
        );
      await until(at, 'the quota is enforced', tryIt, (said) => said.includes('exceeded quota'), signal);
      await at.client.create(memcachedKind, memcached(name, EVERYTHING));
      const look = () => getMemcached(at, name);
      const { value } = await until(at, 'it is told', look, isDegraded('ApplyFailed'), signal);
      console.log(message(value, 'Degraded'));
      expect(message(value, 'Degraded')).toContain('exceeded quota: none-left');
      const all = others(kind);
      await until(
        at,
        'the others are there',
        () => present(name),
        ({ length }) => length >= all.length,
        signal,
      );
      await at.cluster.kubectl(['delete', 'quota', 'none-left']);
      const { ms } = await until(at, 'it recovers', look, isReady, signal);
      console.log(`ready ${Math.round(ms)} ms after the quota went`);
    } finally {
      await at.cluster.kubectl(['delete', 'quota', 'none-left', '--ignore-not-found']);
    }
  });

  test('of no pods: the status says why', async ({ signal }) => {
    await at.cluster.kubectl(['create', 'quota', 'none-left', '--hard=pods=0']);
    try {
      await at.client.create(memcachedKind, memcached('no-pods'));
      const look = () => getMemcached(at, 'no-pods');
      const isTold = (seen: Memcached) => message(seen, 'Degraded').includes('none-left');
      const { value } = await until(at, 'it is told', look, isTold, signal);
      console.log(message(value, 'Degraded'));
      expect(conditions(value)).toMatchObject({ Degraded: 'True/ReplicasNotReady', Ready: 'False/ReplicasNotReady' });
      await at.cluster.kubectl(['delete', 'quota', 'none-left']);
      const { ms } = await until(at, 'it recovers', look, isReady, signal, 300_000); // the ReplicaSet is asked for patience
      console.log(`ready ${Math.round(ms)} ms after the quota went`);
    } finally {
      await at.cluster.kubectl(['delete', 'quota', 'none-left', '--ignore-not-found']);
    }
  });
});

const paused = (value: string | null) => ({ metadata: { annotations: { [annotation.paused]: value } } });

describe('a field that cannot be changed', () => {
  test.for([
    [
      'selector of the Deployment',
      deploymentKind,
      (name: string) => ({
        selector: { matchLabels: { app: name } },
        template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'other', image: 'x' }] } },
      }),
      'field is immutable',
    ],
    ['address of the Service', serviceKind, () => ({ ports: [{ port: 11211 }] }), 'may not change once set'],
  ] as const)('%s', async ([title, kind, spec, words], { signal }) => {
    const name = `fixed-${kind.kind.toLowerCase()}`;
    const { value: created } = await createReady(at, memcached(name), signal);
    await change(at, name, paused('true'));
    const { metadata } = await at.client.get<KubernetesObject>(kind, name, NAMESPACE);
    await at.client.delete(kind, name, NAMESPACE, { propagationPolicy: 'Foreground' });
    await until(
      at,
      'it is gone',
      () => find(at, kind, name),
      (seen) => seen === undefined,
      signal,
    );
    const { labels = {}, ownerReferences = [] } = metadata;
    const remade = { name, namespace: NAMESPACE, labels, ownerReferences };
    const { apiVersion } = kind;
    await at.client.create(kind, {
      apiVersion,
      kind: kind.kind,
      metadata: remade,
      spec: spec(name),
    } as KubernetesObject);
    await change(at, name, paused(null));
    const look = () => getMemcached(at, name);
    const { value } = await until(at, 'it is told', look, isDegraded('ApplyFailed'), signal);
    console.log(`${title}: ${message(value, 'Degraded')}`);
    expect(message(value, 'Degraded')).toContain(words);
    expect(message(value, 'Degraded')).toContain(kind.kind);
    await change(at, name, { spec: { service: { annotations: { a: 'b' } }, replicas: 2 } });
    const goesOn = async () =>
      kind === serviceKind
        ? (await getDeployment(at, name)).spec.replicas === 2
        : (await getService(at, name)).metadata.annotations?.['a'] === 'b';
    await until(at, 'the other one is changed', goesOn, Boolean, signal);

    await at.client.delete(kind, name, NAMESPACE);
    const { value: after, ms } = await until(at, 'it recovers', look, isReady, signal);
    console.log(`ready ${Math.round(ms)} ms after the ${kind.kind} went`);
    expect(after.metadata.uid).toBe(created.metadata.uid);
  });
});

test('a finalizer of somebody that holds a deleted child is told, and hides no change of the spec', async ({
  signal,
}) => {
  const hold = (finalizers: readonly string[] | null) =>
    at.client.patch(serviceKind, 'held', NAMESPACE, { type: 'merge', body: { metadata: { finalizers } } });
  await createReady(at, memcached('held'), signal);
  const { metadata } = await hold(['example.com/hold']);
  await at.client.delete(serviceKind, 'held', NAMESPACE);
  await change(at, 'held', { spec: { service: { annotations: { a: 'b' } } } });
  const look = () => getMemcached(at, 'held');
  const { value } = await until(at, 'it is told', look, isDegraded('ApplyFailed'), signal);
  console.log(message(value, 'Degraded'));
  expect(message(value, 'Degraded')).toContain('example.com/hold holds it');
  expect(value.status?.observedGeneration).toBe(1);
  await hold(null);
  await until(at, 'it recovers', look, isReady, signal);
  const service = await getService(at, 'held');
  expect([service.metadata.uid === metadata.uid, service.metadata.annotations]).toEqual([false, { a: 'b' }]);
});

test('an error of many words is told in part', async ({ signal }) => {
  const allowedSources = Array.from({ length: 500 }, (_, index) => ({ ipBlock: { cidr: `not-an-address-${index}` } }));
  await at.client.create(memcachedKind, memcached('many-words', { networkPolicy: { enabled: true, allowedSources } }));
  const look = () => getMemcached(at, 'many-words');
  const { value } = await until(at, 'it is told', look, isDegraded('ApplyFailed'), signal);
  expect(message(value, 'Degraded')).toMatch(/^NetworkPolicy: .*not-an-address-9.*…$/s);
});

test('an annotation on the Deployment is nothing to speak of', async ({ signal }) => {
  await createReady(at, memcached('annotated', { replicas: 3 }), signal);
  const trail = await Trail.begin(at, 'annotated', signal);
  for (let round = 0; round < 10; round += 1) {
    await at.cluster.kubectl(['annotate', 'deployment/annotated', `note=${round}`, '--overwrite']);
    await sleep(100);
  }
  await sleep(2000);
  expect(await trail.end(signal)).toHaveLength(4); // each condition once
});
