/** What the operator needs goes away and comes back, changes, or it goes away itself: nothing is lost. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { memcachedKind } from '../../src/api/index.ts';
import { deploymentKind, MANAGED_BY } from '../../src/children/index.ts';
import { networkPolicyKind } from '../../src/children/network-policy.ts';
import { serviceKind } from '../../src/children/service.ts';
import type { KubernetesObject, OwnerReference } from '../../src/kubernetes/object.ts';
import { Churn, type Unfinished } from '../support/churn.ts';
import { ROOT, startCluster } from '../support/cluster.ts';
import { chosenSeed, FaultProxy } from '../support/fault-proxy/index.ts';
import { conditions, eventsOf, find, getMemcached, memcached, NAMESPACE, stage, until } from '../support/memcacheds.ts';
import { OPERATOR_NAMESPACE, OPERATOR_USER, Operator } from '../support/operator.ts';
import { healed, killOf } from '../support/outage.ts';
import { selfSigned } from '../support/self-signed.ts';
import { recovery, seconds } from '../support/trial.ts';

const CLUSTER = { name: 'test-outages', form: 'none' } as const;
const at = stage(CLUSTER);
const SEED = chosenSeed();
const CHANGES = 300;
/** How long the API server is gone. */
const OUTAGE_S = Number(process.env['OUTAGE_SECONDS'] ?? 15);
const STOP_S = 40;
const DEBUG = ['--log-level=debug'];

const churn = new Churn(at, 30, 0);
const summary: string[] = [];
let proxy: FaultProxy;
/** The operator's, by way of the proxy. */
let kubeconfig: string;
let seed = SEED;

/** So many changes, in a few seconds; each time others. */
const changes = (count: number, ms: number, signal: AbortSignal) => churn.rage(count, ms, (seed += 1), signal);

beforeAll(async () => {
  console.log(`seed ${SEED} (SEED=${SEED} does it again)`);
  proxy = await FaultProxy.before(at.kubeconfig);
  kubeconfig = `${at.kubeconfig}-by-proxy`;
  await changes(CHANGES, 5000, at.signal);
  await recovery(at, churn, at.signal);
});

afterEach(() => at.operator.assertAlive());

afterAll(() => {
  console.log(`seed ${SEED}; recovered after:\n${summary.join('\n')}`);
  proxy?.close();
});

const NOTHING: Unfinished = { ours: [], theirs: [] };

/** After outages the garbage collector of Kubernetes has been seen to overlook an object for good; a new one finds it. */
async function renewCollector(forgotten: readonly string[]): Promise<void> {
  console.log(`Kubernetes has forgotten: ${forgotten.join(', ')}; its controllers are started anew`);
  await killOf(at.cluster, 'kube-controller-manager');
  await startCluster(CLUSTER);
}

/** From now on it has to recover; what is unfinished a moment after that. */
async function recovers(what: string, signal: AbortSignal): Promise<Unfinished> {
  const { operatorMs, allMs } = await recovery(at, churn, signal, renewCollector);
  summary.push(`${what.padEnd(40)} operator ${seconds(operatorMs)}, all ${seconds(allMs)}`);
  console.log(summary.at(-1));
  await sleep(1000);
  return churn.unfinished();
}

/** Another operator in the place of this one. */
async function replace(signal: AbortSignal, ...[file, flags, nodeFlags]: [string, string[]?, string[]?]) {
  await at.operator.stop();
  at.operator = await Operator.start(file, signal, flags, nodeFlags);
}

test(`the API server is gone for ${OUTAGE_S} s`, async ({ signal }) => {
  await changes(CHANGES / 2, 1000, signal); // the last of them are under way when it goes
  await killOf(at.cluster, 'kube-apiserver');
  await sleep(OUTAGE_S * 1000);
  const { done } = await healed(at, CLUSTER);
  await changes(5, 0, signal); // only who watches again hears of them
  expect(await recovers('API server gone', signal)).toEqual(NOTHING);
  await done;
  await changes(CHANGES / 2, 1000, signal);
  expect(await recovers('changes right after that', signal)).toEqual(NOTHING);
});

test('etcd is gone for 10 s', async ({ signal }) => {
  await changes(CHANGES / 2, 1000, signal);
  await killOf(at.cluster, 'etcd');
  await sleep(10_000);
  const { done } = await healed(at, CLUSTER);
  await changes(5, 0, signal);
  expect(await recovers('etcd gone', signal)).toEqual(NOTHING);
  await done;
  await changes(CHANGES / 2, 1000, signal);
  expect(await recovers('changes right after that', signal)).toEqual(NOTHING);
});

test('with a Lease, an outage ends the operator, and the next one goes on', async ({ signal }) => {
  const flags = ['--leader-elect', '--leader-election-namespace', OPERATOR_NAMESPACE];
  await replace(signal, at.kubeconfig, flags);
  const ending = at.operator.ended();
  await changes(CHANGES / 2, 1000, signal);
  await killOf(at.cluster, 'kube-apiserver');
  const since = performance.now();
  const code = await ending;
  console.log(`ended with ${code} after ${seconds(performance.now() - since)}`);
  const next = Operator.start(at.kubeconfig, signal, flags); // as the kubelet does
  await sleep(Math.max(0, OUTAGE_S * 1000 - (performance.now() - since)));
  const { done } = await healed(at, CLUSTER);
  await changes(5, 0, signal);
  at.operator = await next;
  expect(await recovers('API server gone, with a Lease', signal)).toEqual(NOTHING);
  expect(code).toBeGreaterThan(0);
  await done;
});

test('the API server has forgotten what the operator has missed (410)', async ({ signal }) => {
  await replace(signal, at.kubeconfig, DEBUG);
  process.kill(at.operator.pid, 'SIGSTOP');
  await changes(CHANGES, 3000, signal);
  await killOf(at.cluster, 'kube-apiserver');
  const { done } = await healed(at, CLUSTER);
  process.kill(at.operator.pid, 'SIGCONT');
  expect(await recovers('watch cache emptied', signal)).toEqual(NOTHING);
  await done;
  const expired = at.operator.logs.filter(({ outcome }) => outcome === 'expired').map(({ kind }) => kind);
  console.log(`expired: ${expired.join(', ')}`);
  expect(expired).toContain('Memcached');
  expect(expired).toContain('Deployment');
});

test(`the operator is stopped (SIGSTOP) for ${STOP_S} s`, async ({ signal }) => {
  process.kill(at.operator.pid, 'SIGSTOP');
  await changes(CHANGES, STOP_S * 1000, signal);
  process.kill(at.operator.pid, 'SIGCONT');
  expect(await recovers('stopped', signal)).toEqual(NOTHING);
});

test('the operator is killed eight times', async ({ signal }) => {
  const raging = changes(CHANGES, 10_000, signal);
  for (let kills = 0; kills < 8; kills += 1) {
    await sleep(1000);
    await at.operator.kill();
    at.operator = await Operator.start(at.kubeconfig, signal);
  }
  await raging;
  expect(await recovers('killed eight times', signal)).toEqual(NOTHING);
});

test('its token is replaced: in order, and after it has become invalid', async ({ signal }) => {
  const [namespace, account = ''] = [OPERATOR_NAMESPACE, OPERATOR_USER.split(':').at(-1)];
  /** Valid as long as the Secret of that name exists. */
  const token = async (secret: string) => {
    await at.cluster.kubectl(['create', 'secret', 'generic', secret, '-n', namespace]);
    const bound = ['--bound-object-kind', 'Secret', '--bound-object-name', secret];
    return at.cluster.kubectl(['create', 'token', account, '-n', namespace, ...bound]);
  };
  const revoke = (secret: string) => at.cluster.kubectl(['delete', 'secret', secret, '-n', namespace]);
  const file = `${kubeconfig}.token`;
  await writeFile(file, await token('first'));
  await proxy.writeKubeconfig(at.kubeconfig, kubeconfig, { tokenFile: file });
  await replace(signal, kubeconfig, DEBUG);

  await writeFile(file, await token('second'));
  await revoke('first');
  await changes(CHANGES / 2, 12_000, signal); // the API server believes what it knows for 10 s
  proxy.cable.reset(); // watches are asked who they are when they begin
  expect(await recovers('token replaced', signal)).toEqual(NOTHING);

  await revoke('second');
  await changes(CHANGES / 2, 12_000, signal);
  proxy.cable.reset();
  await sleep(3000);
  await writeFile(file, await token('third'));
  expect(await recovers('token replaced too late', signal)).toEqual(NOTHING);
  const refusals = at.operator.logs.filter(({ error }) => (error as { status?: number } | undefined)?.status === 401);
  console.log(`${refusals.length} refusals (401)`);
  expect(refusals.length).toBeGreaterThan(0);
});

test('the authority of the API server is replaced: in order, and by surprise', async ({ signal }) => {
  await proxy.writeKubeconfig(at.kubeconfig, kubeconfig);
  await replace(signal, kubeconfig, DEBUG);
  const file = `${kubeconfig}.ca`;
  const [second, third] = [await selfSigned(), await selfSigned()];
  await writeFile(file, `${proxy.authority}\n${second.certificate}`);
  proxy.rotateCertificate(second);
  proxy.cable.reset();
  await changes(CHANGES / 2, 2000, signal);
  expect(await recovers('authority replaced', signal)).toEqual(NOTHING);

  proxy.rotateCertificate(third);
  proxy.cable.reset();
  await changes(CHANGES / 2, 8000, signal);
  await writeFile(file, third.certificate);
  expect(await recovers('authority replaced too late', signal)).toEqual(NOTHING);
});

test('the clock is set an hour ahead, and an hour back', async ({ signal }) => {
  const preload = path.join(ROOT, 'test/support/stepped-clock.ts');
  await proxy.writeKubeconfig(at.kubeconfig, kubeconfig);
  await replace(signal, kubeconfig, DEBUG, ['--import', preload]);
  for (const hours of [1, -1, 0]) {
    process.kill(at.operator.pid, 'SIGUSR2');
    const logged = at.operator.logs.length;
    await changes(CHANGES / 2, 2000, signal);
    proxy.cable.reset();
    expect(await recovers(`clock ${hours} h off`, signal)).toEqual(NOTHING);
    const last = at.operator.logs.slice(logged).at(-1);
    const off = (Date.parse(last?.time ?? '') - Date.now()) / 3_600_000;
    expect(off).toBeCloseTo(hours, 1);
  }
});

/** A Service in the way of the Memcached of that name, with owners that are no more. */
function inTheWay(name: string, owners: readonly Partial<OwnerReference>[]): Promise<KubernetesObject> {
  const { apiVersion, kind } = memcachedKind;
  const ownerReferences = owners.map((owner) => ({ apiVersion, kind, name, uid: 'gone', ...owner }));
  const labels = { 'app.kubernetes.io/managed-by': MANAGED_BY };
  const metadata = { name, namespace: NAMESPACE, labels, ownerReferences };
  return at.client.create<KubernetesObject>(serviceKind, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: { ports: [{ port: 80 }] },
  } as KubernetesObject);
}

/** The last one: nobody collects anything after it. */
test('what garbage collection has forgotten goes, and nothing else does', async ({ signal }) => {
  await replace(signal, at.kubeconfig);
  await killOf(at.cluster, 'kube-controller-manager');
  const owners = async () => {
    const found = await Promise.all(
      [deploymentKind, serviceKind, networkPolicyKind].map((kind) => find(at, kind, 'again')),
    );
    return found.map((one) => one?.metadata.ownerReferences?.[0]?.uid);
  };
  const create = async (spec: object) =>
    (await at.client.create(memcachedKind, memcached('again', { replicas: 0, ...spec }))).metadata.uid;
  const belongTo =
    (...uids: (string | undefined)[]) =>
    (seen: unknown[]) =>
      isDeepStrictEqual(seen, uids);

  const former = await create({ networkPolicy: { enabled: true } });
  await until(at, 'it has children', owners, belongTo(former, former, former), signal);
  await at.client.delete(memcachedKind, 'again', NAMESPACE);
  expect(await owners()).toEqual([former, former, former]);
  const now = await create({});
  const { ms } = await until(at, 'the next one has its own', owners, belongTo(now, now, undefined), signal);
  console.log(`what was left behind is replaced after ${seconds(ms)}`);
  const deeds = () => eventsOf(at, 'again');
  const gone = 'Deleted: Deleted Deployment, Service, NetworkPolicy';
  const { value } = await until(at, 'it is told', deeds, (events) => events.includes(gone), signal);
  expect(value.filter((event) => event.startsWith('ResourceConflict'))).toEqual([]);

  for (const [name, references] of [
    ['of-another-name', [{ name: 'another', controller: true }]],
    ['of-others-too', [{ controller: true }, { apiVersion: 'v1', kind: 'ConfigMap', name: 'kept', uid: 'other' }]],
    ['of-nobody-in-particular', [{ controller: false }]],
    ['of-another-kind', [{ apiVersion: 'memcached.example.com/v1alpha1', controller: true }]],
  ] as const) {
    const { metadata } = await inTheWay(name, references);
    await at.client.create(memcachedKind, memcached(name, { replicas: 0 }));
    const reason = async () => conditions(await getMemcached(at, name))['Degraded'];
    await until(at, 'it is told', reason, (seen) => seen === 'True/ResourceConflict', signal);
    expect((await at.client.get(serviceKind, name, NAMESPACE)).metadata).toEqual(metadata);
  }
});
