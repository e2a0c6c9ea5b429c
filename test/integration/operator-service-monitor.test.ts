/** ServiceMonitors while their kind comes and goes: never missed, never in the way. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { memcachedKind } from '../../src/api/index.ts';
import { serviceMonitorKind } from '../../src/children/service-monitor.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { isNotFound } from '../../src/runtime/client/index.ts';
import {
  change,
  createReady,
  eventsOf,
  find,
  getMemcached,
  getService,
  isReady,
  memcached,
  NAMESPACE,
  type Stage,
  stage,
  Trail,
  until,
} from '../support/memcacheds.ts';
import { Operator } from '../support/operator.ts';
import { installServiceMonitors, SERVICE_MONITOR_CRD } from '../support/service-monitors.ts';

const at = stage({ name: 'test-service-monitor', form: 'fake', fakeNodes: 3 });

afterEach(() => at.operator.assertAlive());

const names = Array.from({ length: 20 }, (_, index) => `watched-${index}`);
const SPEC = { replicas: 1, monitoring: { enabled: true } };

/** The names of all ServiceMonitors; none while nobody knows the kind. */
async function serviceMonitors({ client }: Stage): Promise<string[]> {
  try {
    const { items } = await client.list<KubernetesObject>(serviceMonitorKind, { namespace: NAMESPACE });
    return items.map(({ metadata }) => metadata.name);
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

/** Makes the kind known and waits for a ServiceMonitor of each Memcached. Gives the time from then on. */
async function install(count: number, signal: AbortSignal): Promise<number> {
  await installServiceMonitors(at.cluster, signal);
  const { ms } = await until(
    at,
    'all are there',
    () => serviceMonitors(at),
    ({ length }) => length === count,
    signal,
  );
  return Math.round(ms);
}

/** Why reconciles failed, each reason once. */
function complaints(): string[] {
  const failed = at.operator.logs.filter(({ message }) => message === 'reconcile failed');
  return [...new Set(failed.map(({ error }) => JSON.stringify(error).slice(0, 500)))];
}

test('without the kind the operator is ready, and everything else is made', async ({ signal }) => {
  const times = await Promise.all(names.map(async (name) => (await createReady(at, memcached(name, SPEC), signal)).ms));
  console.log(`20 are ready without ServiceMonitors after ${Math.round(Math.max(...times))} ms`);
  expect((await getService(at, 'watched-0')).spec.ports.map(({ name }) => name)).toEqual(['memcached', 'metrics']);
  expect(complaints()).toEqual([]);
});

test('once it is installed they are made, and with it they go', { timeout: 600_000 }, async ({ signal }) => {
  for (const round of [1, 2, 3]) {
    console.log(`round ${round}: all 20 ServiceMonitors ${await install(20, signal)} ms after the kind was served`);
    await Promise.all(names.map((name) => until(at, 'it is ready', () => getMemcached(at, name), isReady, signal)));
    const trail = await Trail.begin(at, 'watched-0', signal);
    const start = performance.now();
    await at.cluster.kubectl(['delete', 'crd', SERVICE_MONITOR_CRD, '--timeout=180s'], { signal });
    console.log(`round ${round}: the kind was gone after ${Math.round(performance.now() - start)} ms`);
    await change(at, 'watched-0', { spec: { service: { annotations: { round: `${round}` } } } });
    const annotation = async () => (await getService(at, 'watched-0')).metadata.annotations?.['round'];
    await until(at, 'changes are carried out', annotation, (now) => now === `${round}`, signal);
    await until(at, 'it is ready', () => getMemcached(at, 'watched-0'), isReady, signal);
    await sleep(2000);
    expect(complaints()).toEqual([]);
    expect((await trail.end(signal)).filter((entry) => entry.startsWith('Degraded=True'))).toEqual([]);
  }
});

test('an operator that starts without the kind learns of it, and one that starts with it as well', async ({
  signal,
}) => {
  await at.operator.stop();
  at.operator = await Operator.start(at.kubeconfig, signal);
  console.log(`after a start without: ${await install(20, signal)} ms after the kind was served`);
  await at.operator.stop();
  await at.client.delete(serviceMonitorKind, 'watched-3', NAMESPACE);
  at.operator = await Operator.start(at.kubeconfig, signal);
  const look = () => find(at, serviceMonitorKind, 'watched-3');
  const { value, ms } = await until(at, 'it is made anew', look, Boolean, signal);
  console.log(`made anew ${Math.round(ms)} ms after the start`);
  const { metadata } = await getMemcached(at, 'watched-3');
  expect(value?.metadata.ownerReferences?.[0]?.uid).toBe(metadata.uid);
});

test('switched off, it goes; with its Memcached, too', async ({ signal }) => {
  await change(at, 'watched-0', { spec: { monitoring: { enabled: false } } });
  const look = (name: string) => () => find(at, serviceMonitorKind, name);
  await until(at, 'it is gone', look('watched-0'), (seen) => seen === undefined, signal);
  const isTold = (events: readonly string[]) => events.some((event) => /^Deleted: .*ServiceMonitor/.test(event));
  const { value } = await until(at, 'it is told', () => eventsOf(at, 'watched-0'), isTold, signal);
  console.log(value.at(-1));
  await at.client.delete(memcachedKind, 'watched-1', NAMESPACE);
  await until(at, 'it is collected', look('watched-1'), (seen) => seen === undefined, signal);
  expect((await serviceMonitors(at)).length).toBe(18);
});
