/** Switching autoscaling on and off: whoever decides the number of servers, it never drops on the way. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { type Memcached, type MemcachedSpec, memcachedKind } from '../../src/api/index.ts';
import { autoscalerKind } from '../../src/children/autoscaler.ts';
import { deploymentKind } from '../../src/children/index.ts';
import type { Deployment } from '../../src/kubernetes/deployment.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import {
  change,
  conditions,
  createReady,
  eventsOf,
  find,
  getDeployment,
  getMemcached,
  isReady,
  isUpToDate,
  memcached,
  message,
  NAMESPACE,
  stage,
  until,
} from '../support/memcacheds.ts';
import { Operator } from '../support/operator.ts';
import { Versions } from '../support/versions.ts';

const at = stage({ name: 'test-autoscaling', form: 'fake', fakeNodes: 5 });

afterEach(() => at.operator.assertAlive());

/** Utilization is a share of what is requested. */
const BASIS: MemcachedSpec = { resources: { requests: { cpu: '100m', memory: '128Mi' } } };
/** The real autoscaler has no metrics here, but keeps to its bounds. */
const scaling = (minReplicas: number): MemcachedSpec => ({
  autoscaling: { enabled: true, minReplicas, maxReplicas: 12 },
});

/** Every number of replicas that the Deployment has, in a row. */
function replicas(name: string, signal: AbortSignal): Promise<Versions<Deployment, number>> {
  return Versions.begin(at, deploymentKind, name, ({ spec }: Deployment) => spec.replicas ?? -1, signal);
}

/** Waits until the operator has carried out the spec that there is now. */
async function carriedOut(name: string, signal: AbortSignal): Promise<Memcached> {
  const isDone = ({ metadata, status }: Memcached) => status?.observedGeneration === metadata.generation;
  return (await until(at, `${name} is carried out`, () => getMemcached(at, name), isDone, signal)).value;
}

async function reach(name: string, count: number, signal: AbortSignal): Promise<void> {
  const look = async () => (await getDeployment(at, name)).spec.replicas;
  const { ms } = await until(at, `${name} has ${count} replicas`, look, (now) => now === count, signal);
  console.log(`${name}: ${count} replicas after ${Math.round(ms)} ms`);
}

/** What an autoscaler does when it has decided. */
function scaleTo(name: string, count: number): Promise<unknown> {
  const body = { spec: { replicas: count } };
  return at.client.patch(deploymentKind, name, NAMESPACE, { type: 'merge', body, subresource: 'scale' });
}

const hasAutoscaler = (name: string) => async () => (await find(at, autoscalerKind, name)) !== undefined;

/** On, the real autoscaler, something else, and off again with a number. */
async function walk(name: string, on: () => Promise<unknown>, signal: AbortSignal): Promise<number[]> {
  const seen = await replicas(name, signal);
  await on();
  await until(at, 'there is an autoscaler', hasAutoscaler(name), Boolean, signal);
  await reach(name, 7, signal);
  await change(at, name, { spec: { image: 'memcached:1.6.18' } });
  const { spec } = await carriedOut(name, signal);
  expect(spec).not.toHaveProperty('replicas');
  expect((await getDeployment(at, name)).spec.template.spec.containers[0]?.image).toBe('memcached:1.6.18');
  const { value } = await until(at, 'it is ready', () => getMemcached(at, name), isReady, signal);
  expect(value.status).toMatchObject({ replicas: 7, readyReplicas: 7 });
  expect((await seen.upToNow(signal)).at(-1)).toBe(7);
  await change(at, name, { spec: { replicas: 4, autoscaling: null } });
  await until(at, 'the autoscaler is gone', hasAutoscaler(name), (has) => !has, signal);
  await carriedOut(name, signal);
  await until(at, 'it is ready', () => getMemcached(at, name), isReady, signal);
  return seen.changes(signal);
}

test('5 by hand, 7 by the autoscaler, something else, 4 by hand', { timeout: 400_000 }, async ({ signal }) => {
  await createReady(at, memcached('plain', { ...BASIS, replicas: 5 }), signal);
  const on = () => change(at, 'plain', { spec: { replicas: null, ...scaling(7) } });
  expect(await walk('plain', on, signal)).toEqual([5, 7, 4]);
});

test('the same with a manifest that never named replicas', { timeout: 400_000 }, async ({ signal }) => {
  const apply = (spec: MemcachedSpec) =>
    at.cluster.kubectl(['apply', '-f', '-'], { input: stringify(memcached('manifest', spec)) });
  await apply(BASIS);
  await at.cluster.kubectl(['scale', 'mc/manifest', '--replicas=5']);
  await reach('manifest', 5, signal);
  await until(at, 'it is ready', () => getMemcached(at, 'manifest'), isReady, signal);
  expect(await walk('manifest', () => apply({ ...BASIS, ...scaling(7) }), signal)).toEqual([5, 7, 4]);
});

test('off without a number: the present one stays, and is the one from then on', async ({ signal }) => {
  await createReady(at, memcached('off', { ...BASIS, ...scaling(2) }), signal);
  const seen = await replicas('off', signal);
  await scaleTo('off', 6);
  await change(at, 'off', { spec: { autoscaling: null } });
  const isWritten = ({ spec }: Memcached) => spec.replicas === 6;
  await until(at, 'it is written down', () => getMemcached(at, 'off'), isWritten, signal);
  await until(at, 'the autoscaler is gone', hasAutoscaler('off'), (has) => !has, signal);
  await carriedOut('off', signal);
  await at.operator.stop();
  at.operator = await Operator.start(at.kubeconfig, signal);
  await change(at, 'off', { spec: { image: 'memcached:1.6.18' } });
  await until(at, 'it is ready', () => getMemcached(at, 'off'), isReady, signal);
  expect(await seen.changes(signal)).toEqual([2, 6]);
  await at.cluster.kubectl(['scale', 'mc/off', '--replicas=3']);
  await reach('off', 3, signal);
  expect(await seen.changes(signal)).toEqual([2, 6, 3]);
});

const HOLDER = 'memcached-operator-replicas';

/** Who has applied the number of replicas, as the server knows it. */
async function holders(name: string): Promise<(string | undefined)[]> {
  const { managedFields = [] } = (await getDeployment(at, name)).metadata as { managedFields?: readonly Applied[] };
  return managedFields
    .filter(({ operation, fieldsV1 }) => operation === 'Apply' && fieldsV1?.['f:spec']?.['f:replicas'] !== undefined)
    .map(({ manager }) => manager);
}

interface Applied {
  readonly manager?: string;
  readonly operation?: string;
  readonly fieldsV1?: { readonly 'f:spec'?: Readonly<Record<string, unknown>> };
}

test('new under autoscaling it begins with the minimum, and from none as well', async ({ signal }) => {
  const seen = await replicas('new', signal);
  const { value } = await createReady(at, memcached('new', { ...BASIS, ...scaling(3) }), signal);
  expect(value.status).toMatchObject({ replicas: 3, readyReplicas: 3 });
  await createReady(at, memcached('none', { ...BASIS, replicas: 0 }), signal);
  const fromNone = await replicas('none', signal);
  await change(at, 'none', { spec: { replicas: null, ...scaling(2) } });
  await reach('none', 2, signal);
  await until(at, 'it is ready', () => getMemcached(at, 'none'), isReady, signal);
  await createReady(at, memcached('one', { ...BASIS, ...scaling(1) }), signal);
  await sleep(2000); // nothing tells that nothing happens
  expect(await seen.changes(signal)).toEqual([3]);
  expect(await fromNone.changes(signal)).toEqual([0, 2]);
  expect(await Promise.all(['new', 'none', 'one'].map(holders))).toEqual([[HOLDER], [HOLDER], []]);
  // That somebody else holds them is told to nobody.
  const told = ['Created: Created Deployment, Service, HorizontalPodAutoscaler'];
  expect(await Promise.all(['new', 'one'].map((name) => eventsOf(at, name)))).toEqual([told, told]);
});

test('others may have applied something, before us or after', async ({ signal }) => {
  const names = ['before', 'after'];
  await Promise.all(names.map((name) => createReady(at, memcached(name, { ...BASIS, replicas: 5 }), signal)));
  for (const name of names) {
    const metadata = { name, namespace: NAMESPACE, annotations: { 'example.com/theirs': 'kept' } };
    const input = stringify({ apiVersion: 'apps/v1', kind: 'Deployment', metadata });
    await at.cluster.kubectl(['apply', '--server-side', '--field-manager=a', '-f', '-'], { input });
  }
  await change(at, 'before', { spec: { image: 'memcached:1.6.18' } }); // makes our record the newer one
  await until(at, 'it is ready', () => getMemcached(at, 'before'), isReady, signal);
  for (const name of names) {
    await carriedOut(name, signal);
    const seen = await replicas(name, signal);
    await change(at, name, { spec: { replicas: null, ...scaling(2) } });
    await until(at, 'there is an autoscaler', hasAutoscaler(name), Boolean, signal);
    await carriedOut(name, signal);
    expect(await seen.changes(signal)).toEqual([5]);
    expect(await holders(name)).toEqual([HOLDER]);
  }
});

test('what the autoscaler decides in the midst of it is not undone', async ({ signal }) => {
  const names = Array.from({ length: 30 }, (_, index) => `race-${index}`);
  await Promise.all(names.map((name) => createReady(at, memcached(name, { ...BASIS, replicas: 5 }), signal)));
  const trails = await Promise.all(
    names.map(async (name, index) => {
      const seen = await replicas(name, signal);
      await change(at, name, { spec: { replicas: null, ...scaling(1) } });
      await sleep(index * 4);
      await scaleTo(name, 7);
      await carriedOut(name, signal);
      return seen;
    }),
  );
  await sleep(2000);
  const found = await Promise.all(trails.map((seen) => seen.changes(signal)));
  console.log(`30 races: ${[...new Set(found.map((numbers) => numbers.join(' ')))].join(' | ')}`);
  expect(new Set(found.map((numbers) => numbers.join(' ')))).toEqual(new Set(['5 7']));
});

test('an operator that is killed in the midst of it drops nothing', { timeout: 400_000 }, async ({ signal }) => {
  await createReady(at, memcached('killed', { ...BASIS, replicas: 5 }), signal);
  const seen = await replicas('killed', signal);
  for (let round = 0; round < 6; round += 1) {
    const isOn = round % 2 === 0;
    await change(at, 'killed', { spec: isOn ? { replicas: null, ...scaling(2) } : { autoscaling: null } });
    await sleep(round * 7);
    await at.operator.kill();
    at.operator = await Operator.start(at.kubeconfig, signal);
    await until(at, `round ${round}`, hasAutoscaler('killed'), (has) => has === isOn, signal);
    await carriedOut('killed', signal);
  }
  expect(await seen.changes(signal)).toEqual([5]);
});

test('two masters at once are refused, and nothing is touched', async ({ signal }) => {
  await at.client.create(memcachedKind, memcached('masters', { ...BASIS, ...scaling(2), replicas: 3 }));
  const isTold = (seen: Memcached) => isUpToDate(seen) && conditions(seen)['Degraded'] === 'True/InvalidSpec';
  const { value } = await until(at, 'it is told', () => getMemcached(at, 'masters'), isTold, signal);
  expect(message(value, 'Degraded')).toContain('spec.replicas and spec.autoscaling.enabled are mutually exclusive');
  expect(await find(at, deploymentKind, 'masters')).toBeUndefined();
  await change(at, 'masters', { spec: { replicas: null } });
  await until(at, 'it is ready', () => getMemcached(at, 'masters'), isReady, signal);
});

interface Template {
  readonly spec: { readonly template: KubernetesObject };
}

test('a restart by kubectl works, and is not undone', async ({ signal }) => {
  await createReady(at, memcached('restarted', { ...BASIS, ...scaling(2) }), signal);
  await scaleTo('restarted', 3);
  await at.cluster.kubectl(['rollout', 'restart', 'deployment/restarted']);
  await at.cluster.kubectl(['rollout', 'status', 'deployment/restarted', '--timeout=120s']);
  await change(at, 'restarted', { spec: { memcached: { maxMemoryMB: 72 } } });
  await carriedOut('restarted', signal);
  const { spec } = await at.client.get<KubernetesObject & Template>(deploymentKind, 'restarted', NAMESPACE);
  expect(spec.template.metadata.annotations).toHaveProperty(['kubectl.kubernetes.io/restartedAt']);
  expect((await getDeployment(at, 'restarted')).spec.replicas).toBe(3);
});
