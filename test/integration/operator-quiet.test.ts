/** Two hundred settled Memcacheds: the API server hears nothing of an operator that has nothing to do. */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { memcachedKind } from '../../src/api/index.ts';
import type { Memcached } from '../../src/api/memcached.ts';
import { deploymentKind } from '../../src/children/index.ts';
import { type AuditEntry, isWrite, type Mark, markOf, nameOf, requestsSince, summary } from '../support/audit.ts';
import { change, isReady, memcached, NAMESPACE, stage, until } from '../support/memcacheds.ts';
import { Operator } from '../support/operator.ts';

const at = stage({ name: 'test-quiet', form: 'fake', fakeNodes: 5, audit: true });
const COUNT = 200;
const names = Array.from({ length: COUNT }, (_, index) => `quiet-${index}`);

async function settled(signal: AbortSignal): Promise<number> {
  const list = async () => {
    await sleep(300); // a list of so many is no light request
    return (await at.client.list<Memcached>(memcachedKind, { namespace: NAMESPACE })).items;
  };
  const isDone = (items: readonly Memcached[]) => items.length === COUNT && items.every(isReady);
  const { ms } = await until(at, `all ${COUNT} are ready`, list, isDone, signal);
  return Math.round(ms);
}

/** Until it has asked nothing for a while: the last events of all controllers take their time. */
async function calm(): Promise<void> {
  for (let isCalm = false; !isCalm; ) {
    const mark = await markOf(at.cluster);
    await sleep(3000);
    isCalm = (await requestsSince(at.cluster, mark)).every(({ verb }) => verb === 'watch');
  }
}

/** As the API server has received them. */
async function inOrderSince(mark: Mark): Promise<AuditEntry[]> {
  const requests = await requestsSince(at.cluster, mark);
  return requests.toSorted((a, b) => a.requestReceivedTimestamp.localeCompare(b.requestReceivedTimestamp));
}

beforeAll(async () => {
  const mark = await markOf(at.cluster);
  const start = performance.now();
  await Promise.all(names.map((name) => at.client.create(memcachedKind, memcached(name))));
  await settled(at.signal);
  const ms = Math.round(performance.now() - start);
  await calm();
  const requests = await requestsSince(at.cluster, mark);
  console.log(
    `${COUNT} ready after ${ms} ms; ${requests.filter(isWrite).length / COUNT} writes each: ${summary(requests)}`,
  );
});

test('in a quiet time it asks nothing', async () => {
  const mark = await markOf(at.cluster);
  await sleep(30_000);
  const requests = await requestsSince(at.cluster, mark);
  console.log(`in 30 s: ${summary(requests)}`);
  expect(summary(requests.filter(({ verb }) => verb !== 'watch'))).toBe('nothing'); // watches are renewed
});

test('a reconcile with nothing to do sends no request', async () => {
  const mark = await markOf(at.cluster);
  // Not an annotation: with it, the Deployment controller has to look again, and the status says so.
  const body = { metadata: { labels: { 'example.org/note': 'hello' } } };
  await Promise.all(names.map((name) => at.client.patch(memcachedKind, name, NAMESPACE, { type: 'merge', body })));
  await Promise.all(names.map((name) => at.client.patch(deploymentKind, name, NAMESPACE, { type: 'merge', body })));
  await sleep(5000);
  const requests = await requestsSince(at.cluster, mark);
  console.log(`after ${2 * COUNT} changes that are none of its business: ${summary(requests)}`);
  expect(summary(requests.filter(({ verb }) => verb !== 'watch'))).toBe('nothing');
});

test.for(['stopped', 'killed'] as const)(
  'an operator that was %s comes back without a write',
  async (how, { signal }) => {
    if (how === 'stopped') await at.operator.stop();
    else await at.operator.kill();
    const mark = await markOf(at.cluster);
    const start = performance.now();
    at.operator = await Operator.start(at.kubeconfig, signal, ['--log-level=debug']);
    const ms = Math.round(performance.now() - start);
    await sleep(5000);
    const requests = await requestsSince(at.cluster, mark);
    console.log(`ready after ${ms} ms, asked in 5 s more: ${summary(requests)}`);
    expect(summary(requests.filter(isWrite))).toBe('nothing');
  },
);

test('while many want something new, all get it before most are told so', async ({ signal }) => {
  const mark = await markOf(at.cluster);
  const body = { spec: { service: { annotations: { 'example.org/note': 'hello' } } } };
  process.kill(at.operator.pid, 'SIGSTOP'); // so that it finds them all waiting
  await Promise.all(names.map((name) => at.client.patch(memcachedKind, name, NAMESPACE, { type: 'merge', body })));
  process.kill(at.operator.pid, 'SIGCONT');
  const list = async () => (await at.client.list<Memcached>(memcachedKind, { namespace: NAMESPACE })).items;
  const isTold = ({ metadata, status }: Memcached) => status?.observedGeneration === metadata.generation;
  await until(at, 'all are told', list, (items) => items.every(isTold), signal);
  await calm();
  const requests = (await inOrderSince(mark)).map(nameOf);
  const statuses = requests.slice(0, requests.lastIndexOf('patch services')).filter((name) => name.endsWith('/status'));
  console.log(`${statuses.length} of ${COUNT} were told before the last had what it wanted`);
  expect(requests.filter((name) => name === 'patch services')).toHaveLength(COUNT);
  expect(statuses.length).toBeLessThan(COUNT / 4);
});

test('while many get new servers, who wants less does not wait for them, and names go on', async ({ signal }) => {
  const [modest = '', ...others] = names;
  const [restarted = ''] = others.slice(COUNT / 2);
  const mark = await markOf(at.cluster);
  process.kill(at.operator.pid, 'SIGSTOP'); // so that it finds them all waiting
  await Promise.all(others.map((name) => change(at, name, { spec: { memcached: { verbosity: 1 } } })));
  await change(at, modest, { spec: { service: { annotations: { 'example.org/note': 'bye' } } } });
  const itsPods = ['pod', '-l', `app.kubernetes.io/instance=${restarted}`];
  await at.cluster.kubectl(['delete', ...itsPods]);
  await at.cluster.kubectl(['wait', '--for=create', ...itsPods, '--timeout=240s']);
  await at.cluster.kubectl(['wait', '--for=condition=Ready', ...itsPods, '--timeout=240s']);
  process.kill(at.operator.pid, 'SIGCONT');
  await settled(signal);
  await calm();
  const requests = (await inOrderSince(mark)).map((request) => `${nameOf(request)} ${request.objectRef?.name}`);
  const rollouts = requests.filter((request) => request.startsWith('patch deployments '));
  expect(rollouts.toSorted()).toEqual(others.map((name) => `patch deployments ${name}`).toSorted());
  const served = requests.indexOf(`patch services ${modest}`);
  const earlier = rollouts.filter((rollout) => requests.indexOf(rollout) < served);
  console.log(`${earlier.length} of ${rollouts.length} got new servers before the one that wanted none was served`);
  expect(served).toBeGreaterThanOrEqual(0);
  expect(earlier.length).toBeLessThan(COUNT / 10);
  const named = requests.indexOf(`patch endpointslices ${restarted}`);
  expect(named).toBeGreaterThanOrEqual(0);
  expect(named).toBeLessThan(requests.indexOf(`patch deployments ${restarted}`));
});

test('one that leads renews its Lease every two seconds, and asks nothing else', async ({ signal }) => {
  await at.operator.stop();
  at.operator = await Operator.start(at.kubeconfig, signal, ['--leader-elect']);
  const isInControl = async () => at.operator.logs.some(({ message }) => message === 'in control');
  await until(at, 'it leads', isInControl, Boolean, signal);
  await sleep(5000);
  const mark = await markOf(at.cluster);
  const start = performance.now();
  await sleep(30_000);
  const requests = (await requestsSince(at.cluster, mark)).filter(({ verb }) => verb !== 'watch');
  const seconds = (performance.now() - start) / 1000;
  console.log(`in ${Math.round(seconds)} s: ${summary(requests)}`);
  expect(new Set(requests.map(nameOf))).toEqual(new Set(['patch leases']));
  expect(requests.length).toBeLessThanOrEqual(1 + seconds / 1.5); // up to a quarter early
});
