/** The walk on simulated nodes: from a Memcached to its children and its status, and back to nothing. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { annotation, memcachedKind } from '../../src/api/index.ts';
import { deploymentKind } from '../../src/children/index.ts';
import { serviceKind } from '../../src/children/service.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
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
  NAMESPACE,
  ownPart,
  stage,
  Trail,
  until,
} from '../support/memcacheds.ts';

const at = stage({ name: 'test-walk', form: 'fake', fakeNodes: 3 });

afterEach(() => at.operator.assertAlive());

const BASIC = `
apiVersion: memcached.c5c3.io/v1alpha1
kind: Memcached
metadata:
  name: basic-cache
  namespace: default
spec:
  replicas: 1
  memcached:
    maxMemoryMB: 64
`;

const WELL = {
  Available: 'True/DeploymentAvailable',
  Progressing: 'False/DeploymentComplete',
  Degraded: 'False/AllReplicasReady',
  Ready: 'True/AllReplicasReady',
};

async function golden(file: string, uid: string | undefined): Promise<unknown[]> {
  const text = await readFile(path.join(import.meta.dirname, 'golden', file), 'utf8');
  return parseAllDocuments(text.replaceAll('<uid>', uid ?? '')).map((document) => document.toJS() as unknown);
}

const replicaSets = { apiVersion: 'apps/v1', kind: 'ReplicaSet', plural: 'replicasets', namespaced: true };
const pods = { apiVersion: 'v1', kind: 'Pod', plural: 'pods', namespaced: true };

async function countOf(kind: typeof pods, name: string): Promise<number> {
  const labelSelector = `app.kubernetes.io/instance=${name}`;
  const { items } = await at.client.list<KubernetesObject>(kind, { namespace: NAMESPACE, labelSelector });
  return items.length;
}

/** Makes a change, waits for its end, and gives the conditions on the way. */
async function rollOut(name: string, spec: object, signal: AbortSignal): Promise<{ trail: string[]; ms: number }> {
  const trail = await Trail.begin(at, name, signal);
  await change(at, name, { spec });
  const { ms } = await until(at, `${name} is ready again`, () => getMemcached(at, name), isReady, signal);
  return { trail: await trail.end(signal), ms };
}

test('the basic example becomes what the specification prints, and ready', async ({ signal }) => {
  const start = performance.now();
  await at.cluster.kubectl(['apply', '-f', '-'], { input: BASIC, signal });
  const wait = ['wait', '--for=condition=Ready', 'mc/basic-cache', '--timeout=120s'];
  expect(await at.cluster.kubectl(wait, { signal })).toContain('condition met');
  console.log(`ready by kubectl wait after ${Math.round(performance.now() - start)} ms`);

  const { metadata, status } = await getMemcached(at, 'basic-cache');
  const children = [await getDeployment(at, 'basic-cache'), await getService(at, 'basic-cache')];
  expect(children.map(ownPart)).toEqual(await golden('basic-cache.yaml', metadata.uid));
  expect(status).toMatchObject({
    replicas: 1,
    readyReplicas: 1,
    observedGeneration: metadata.generation,
    selector:
      'app.kubernetes.io/name=memcached,app.kubernetes.io/instance=basic-cache,app.kubernetes.io/managed-by=memcached-operator',
  });
  expect(conditions(await getMemcached(at, 'basic-cache'))).toEqual(WELL);
  expect(await eventsOf(at, 'basic-cache')).toEqual(['Created: Created Deployment, Service']);
});

test('kubectl scale adds servers, and the selector of the status finds them', async ({ signal }) => {
  await createReady(at, memcached('scaled'), signal);
  const trail = await Trail.begin(at, 'scaled', signal);
  await at.cluster.kubectl(['scale', 'mc/scaled', '--replicas=5'], { signal });
  await at.cluster.kubectl(['wait', '--for=jsonpath={.status.readyReplicas}=5', 'mc/scaled', '--timeout=120s']);
  const { value, ms } = await until(at, 'scaled is ready', () => getMemcached(at, 'scaled'), isReady, signal);
  console.log(`5 servers, told ${Math.round(ms)} ms after the wait for the fifth`);
  const found = await at.client.list<KubernetesObject>(pods, { labelSelector: value.status?.selector });
  expect(found.items).toHaveLength(5);
  expect(value.status).toMatchObject({ replicas: 5, readyReplicas: 5, observedGeneration: 2 });
  expect(await trail.end(signal)).toEqual(
    expect.arrayContaining(['Progressing=True/DeploymentProgressing', 'Progressing=False/DeploymentComplete']),
  );
});

test.for([
  // All children tell the version.
  ['a new image', 'image', { image: 'memcached:1.6.18' }, 'Deployment, Service'],
  ['another configuration', 'config', { memcached: { maxMemoryMB: 128, maxConnections: 2048 } }, 'Deployment'],
  ['a memory limit', 'limit', { resources: { limits: { memory: '0.5Gi', cpu: '0.5' } } }, 'Deployment'],
] as const)('%s rolls out while the servers stay available', async ([, name, spec, updated], { signal }) => {
  await createReady(at, memcached(name, { replicas: 3 }), signal);
  const { trail, ms } = await rollOut(name, spec, signal);
  console.log(`rolled out in ${Math.round(ms)} ms: ${trail.join(' ')}`);
  const first = trail.indexOf('Progressing=True/DeploymentProgressing');
  expect(first).toBeGreaterThan(-1);
  expect(trail.lastIndexOf('Progressing=False/DeploymentComplete')).toBeGreaterThan(first);
  expect(trail.filter((entry) => entry.startsWith('Available='))).toEqual(['Available=True/DeploymentAvailable']);
  expect(await countOf(replicaSets, name)).toBe(2);
  expect(await eventsOf(at, name)).toEqual(['Created: Created Deployment, Service', `Updated: Updated ${updated}`]);
  const now = await getMemcached(at, name);
  expect(conditions(now)).toEqual(WELL);
  expect(now.status?.observedGeneration).toBe(2);
});

test('no replicas are a healthy state of their own', async ({ signal }) => {
  const { value } = await createReady(at, memcached('zero', { replicas: 0 }), signal);
  const scaledToZero = { ...WELL, Available: 'False/ScaledToZero' };
  expect(conditions(value)).toEqual(scaledToZero);
  expect(value.status).toMatchObject({ replicas: 0, readyReplicas: 0 });

  await rollOut('zero', { replicas: 2 }, signal);
  expect(conditions(await getMemcached(at, 'zero'))).toEqual(WELL);
  await rollOut('zero', { replicas: 0 }, signal);
  expect(conditions(await getMemcached(at, 'zero'))).toEqual(scaledToZero);
});

test('a paused Memcached is told about, but its children are left alone', async ({ signal }) => {
  await createReady(at, memcached('paused'), signal);
  await change(at, 'paused', { metadata: { annotations: { [annotation.paused]: 'true' } }, spec: { replicas: 2 } });
  const isTold = (seen: Parameters<typeof isUpToDate>[0]) =>
    isUpToDate(seen) && conditions(seen)['Progressing'] === 'False/Paused';
  const { value } = await until(at, 'it is paused', () => getMemcached(at, 'paused'), isTold, signal);
  expect(conditions(value)).toMatchObject({ Ready: expect.stringMatching('^False/') });
  expect(value.status?.observedGeneration).toBe(1);

  await at.client.patch(deploymentKind, 'paused', NAMESPACE, { type: 'merge', body: { spec: { minReadySeconds: 1 } } });
  await at.client.patch(serviceKind, 'paused', NAMESPACE, {
    type: 'json',
    body: [{ op: 'replace', path: '/spec/ports/0/targetPort', value: 80 }],
  });
  await sleep(3000); // nothing tells that nothing happens
  expect((await getDeployment(at, 'paused')).spec.replicas).toBe(1);
  expect((await getService(at, 'paused')).spec.ports[0]?.targetPort).toBe(80);

  await change(at, 'paused', { metadata: { annotations: { [annotation.paused]: null } } });
  await until(at, 'it goes on', () => getMemcached(at, 'paused'), isReady, signal);
  expect((await getDeployment(at, 'paused')).spec.replicas).toBe(2);
  expect((await getService(at, 'paused')).spec.ports[0]?.targetPort).toBe('memcached');
});

test('a restart trigger rolls the pods once for each value', async ({ signal }) => {
  await createReady(at, memcached('restarted', { replicas: 2 }), signal);
  for (const [index, value] of ['a', 'b'].entries()) {
    await change(at, 'restarted', { metadata: { annotations: { [annotation.restartTrigger]: value } } });
    const sets = () => countOf(replicaSets, 'restarted');
    await until(at, `value ${value} rolls`, sets, (count) => count === index + 2, signal);
    await until(at, 'it is done', () => getMemcached(at, 'restarted'), isReady, signal);
  }
  const { metadata } = await getDeployment(at, 'restarted');
  await change(at, 'restarted', { metadata: { annotations: { [annotation.restartTrigger]: 'b', other: 'x' } } });
  await sleep(2000);
  expect((await getDeployment(at, 'restarted')).metadata.generation).toBe(metadata.generation);
  expect(await countOf(replicaSets, 'restarted')).toBe(3);
});

test('a deleted Memcached leaves nothing', async ({ signal }) => {
  await createReady(at, memcached('deleted', { replicas: 3 }), signal);
  await at.client.delete(memcachedKind, 'deleted', NAMESPACE);
  const rest = async () => [
    await find(at, memcachedKind, 'deleted'),
    await find(at, deploymentKind, 'deleted'),
    await find(at, serviceKind, 'deleted'),
    await countOf(replicaSets, 'deleted'),
    await countOf(pods, 'deleted'),
  ];
  const { ms } = await until(at, 'all is gone', rest, (left) => left.every((one) => !one), signal);
  console.log(`everything was gone after ${Math.round(ms)} ms`);
  await sleep(1000);
  expect((await rest()).filter(Boolean)).toEqual([]);
});

test('made anew under the same name it gets children of its own', async ({ signal }) => {
  const { value: first } = await createReady(at, memcached('anew'), signal);
  await at.client.delete(memcachedKind, 'anew', NAMESPACE);
  const { value: second, ms } = await createReady(at, memcached('anew', { replicas: 2 }), signal);
  console.log(`ready again after ${Math.round(ms)} ms`);
  expect(second.metadata.uid).not.toBe(first.metadata.uid);
  const { metadata } = await getDeployment(at, 'anew');
  expect(metadata.ownerReferences?.map(({ uid }) => uid)).toEqual([second.metadata.uid]);
});
