/** Names that stay while pods come and go, on real nodes, with a real resolver and real clients. */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { podKind } from '../../src/controller/world.ts';
import type { Pod } from '../../src/kubernetes/pod.ts';
import {
  change,
  createReady,
  getMemcached,
  isReady,
  memcached,
  NAMESPACE,
  stage,
  until,
} from '../support/memcacheds.ts';
import { type Names, NameTrail, namesOf } from '../support/name-trail.ts';
import { Operator } from '../support/operator.ts';
import { python } from '../support/pods.ts';

const at = stage({ name: 'test-names', form: 'real' });
const CLIENT = 'client';
/** How long the operator stays away after pods were replaced. A new one reads everything anew, so that it matters little. */
const AWAY_MS = process.env['FULL'] ? 60_000 : 0;

beforeAll(async () => {
  const spec = {
    terminationGracePeriodSeconds: 0,
    containers: [{ name: CLIENT, image: 'localhost/memcached-clients:1', command: ['sleep', 'infinity'] }],
  };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: CLIENT }, spec };
  await at.cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(pod) });
  await at.cluster.kubectl(['wait', '--for=condition=Ready', `pod/${CLIENT}`, '--timeout=180s']);
});

const RESOLVE = `
import socket, sys
for name in sys.argv[1:]:
    try:
        print(name, sorted({entry[4][0] for entry in socket.getaddrinfo(name, 11211)})[0])
    except socket.gaierror:
        print(name, "nothing")
`;

/** What the names lead to, for a client in the cluster. */
async function resolved(names: readonly string[]): Promise<Record<string, string>> {
  const lines = (await python(at.cluster, CLIENT, RESOLVE, ...names)).trim().split('\n');
  return Object.fromEntries(lines.map((line) => line.split(' ') as [string, string]));
}

const servers = (name: string, count: number) => Array.from({ length: count }, (_, slot) => `${name}-${slot}`);
const dns = (name: string, count: number) =>
  servers(name, count).map((server) => `${server}.${name}.${NAMESPACE}.svc.cluster.local`);

async function addressOf(pod: string): Promise<string> {
  return (await at.client.get<Pod>(podKind, pod, NAMESPACE)).status?.podIP ?? '';
}

/** The names of the pods that are ready and not on their way out. */
async function podsThatServe(name: string): Promise<string[]> {
  const labelSelector = `app.kubernetes.io/instance=${name}`;
  const { items } = await at.client.list<Pod>(podKind, { namespace: NAMESPACE, labelSelector });
  return items
    .filter((pod) => isUp(pod) && pod.metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => metadata.name)
    .toSorted();
}

function isUp({ status }: Pod): boolean {
  return status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') ?? false;
}

async function whole(name: string, count: number, signal: AbortSignal): Promise<Names> {
  const isWhole = (names: Names) => Object.keys(names).length === count;
  return (await until(at, `${count} names`, () => namesOf(at, name), isWhole, signal)).value;
}

test('each name leads to a pod of its own, in DNS as in the status', async ({ signal }) => {
  const { value } = await createReady(at, memcached('cache', { replicas: 3 }), signal);
  expect(value.status?.serverList).toEqual(servers('cache', 3).map((name) => `${name}.cache.default.svc:11211`));
  const names = await whole('cache', 3, signal);
  expect(Object.keys(names)).toEqual(servers('cache', 3));
  const addresses = await Promise.all(servers('cache', 3).map((name) => addressOf(names[name] ?? '')));
  expect(new Set(addresses).size).toBe(3);
  const look = () => resolved(dns('cache', 3));
  const isSame = (seen: Record<string, string>) =>
    dns('cache', 3).every((name, slot) => seen[name] === addresses[slot]);
  const { ms } = await until(at, 'the resolver knows them', look, isSame, signal);
  console.log(`DNS agreed after ${Math.round(ms)} ms`);
});

test('a killed pod leaves its name to its replacement, and no other name moves', async ({ signal }) => {
  const before = await whole('cache', 3, signal);
  const trail = await NameTrail.begin(at, 'cache', signal);
  const readyAt = new Map<string, number>();
  const watched = new AbortController();
  const following = async () => {
    for await (const { object } of at.client.watch(podKind, { namespace: NAMESPACE, signal: watched.signal })) {
      const pod = object as Pod;
      if (isUp(pod) && !readyAt.has(pod.metadata.name)) readyAt.set(pod.metadata.name, performance.now());
    }
  };
  const followed = following().catch((error: unknown) => {
    if (!watched.signal.aborted) throw error;
  });
  await at.cluster.kubectl(['delete', 'pod', before['cache-1'] ?? '', '--grace-period=0', '--force']);
  const isReplaced = (names: Names) => names['cache-1'] !== undefined && names['cache-1'] !== before['cache-1'];
  const { value: after } = await until(at, 'the name has a new pod', () => namesOf(at, 'cache'), isReplaced, signal);
  await until(
    at,
    'the trail is complete',
    async () => trail.moments.at(-1)?.names['cache-1'],
    (pod) => pod === after['cache-1'],
    signal,
  );
  const published = trail.moments.find(({ names }) => names['cache-1'] === after['cache-1'])?.at ?? 0;
  console.log(`named ${Math.round(published - (readyAt.get(after['cache-1'] ?? '') ?? 0))} ms after it was ready`);
  watched.abort();
  await followed;
  for (const other of ['cache-0', 'cache-2'])
    expect(new Set(trail.moments.map(({ names }) => names[other]))).toEqual(new Set([before[other]]));
  await until(at, 'it is ready again', () => getMemcached(at, 'cache'), isReady, signal);
});

test('during a rolling update every name leads to a server at every moment', async ({ signal }) => {
  const before = await whole('cache', 3, signal);
  const trail = await NameTrail.begin(at, 'cache', signal);
  await change(at, 'cache', { spec: { memcached: { maxMemoryMB: 96 } } });
  const isNew = (names: Names) =>
    Object.keys(names).length === 3 && servers('cache', 3).every((name) => names[name] !== before[name]);
  await until(at, 'all are new', () => namesOf(at, 'cache'), isNew, signal, 240_000);
  const incomplete = trail.moments.filter(({ names }) => Object.keys(names).length !== 3);
  console.log(`${trail.moments.length} versions of the names, ${incomplete.length} of them incomplete`);
  expect(incomplete).toEqual([]);
  await until(at, 'it is ready again', () => getMemcached(at, 'cache'), isReady, signal);
});

test('scaling adds and removes the highest names only', async ({ signal }) => {
  const before = await whole('cache', 3, signal);
  await at.cluster.kubectl(['scale', 'mc/cache', '--replicas=5']);
  const more = await whole('cache', 5, signal);
  expect(more).toMatchObject(before);
  await until(at, 'five are ready', () => getMemcached(at, 'cache'), isReady, signal);
  const trail = await NameTrail.begin(at, 'cache', signal);
  await at.cluster.kubectl(['scale', 'mc/cache', '--replicas=2']);
  const fewer = await whole('cache', 2, signal);
  await until(at, 'two are ready', () => getMemcached(at, 'cache'), isReady, signal);
  expect(fewer).toEqual({ 'cache-0': before['cache-0'], 'cache-1': before['cache-1'] });
  expect(await whole('cache', 2, signal)).toEqual(fewer);
  for (const { names } of trail.moments) expect(names).toMatchObject(fewer);
  expect((await getMemcached(at, 'cache')).status?.serverList).toHaveLength(2);
});

test('names go on while the Memcached is paused', async ({ signal }) => {
  const annotations = { 'memcached.c5c3.io/paused': 'true' };
  await change(at, 'cache', { metadata: { annotations } });
  const before = await whole('cache', 2, signal);
  await at.cluster.kubectl(['delete', 'pod', before['cache-0'] ?? '', '--wait=false']);
  const isReplaced = (names: Names) => Object.keys(names).length === 2 && names['cache-0'] !== before['cache-0'];
  const { value } = await until(at, 'the name has a new pod', () => namesOf(at, 'cache'), isReplaced, signal);
  expect(value['cache-1']).toBe(before['cache-1']);
  await change(at, 'cache', { metadata: { annotations: { 'memcached.c5c3.io/paused': null } } });
});

const FILL = `
import sys
from pymemcache.client.hash import HashClient
servers = sys.argv[1].split(",")
client = HashClient(servers, connect_timeout=5, timeout=5)
for key in range(1000):
    assert client.set(f"key-{key}", str(key), noreply=False)
print("filled")
`;

/** Which server has which key, and which keys are lost. */
const PROBE = `
import json, sys
from pymemcache.client.hash import HashClient
servers = sys.argv[1].split(",")
client = HashClient(servers, connect_timeout=5, timeout=5)
homes = {}
lost = []
for key in range(1000):
    name = f"key-{key}"
    homes[name] = client._get_client(name).server[0]
    if client.get(name) is None:
        lost.append(name)
print(json.dumps({"homes": homes, "lost": lost}))
`;

interface Probe {
  readonly homes: Readonly<Record<string, string>>;
  readonly lost: readonly string[];
}

test('a client loses exactly the keys of a killed pod, and all clients agree where keys live', async ({ signal }) => {
  await createReady(at, memcached('shared', { replicas: 3 }), signal);
  const names = await whole('shared', 3, signal);
  const { status } = await getMemcached(at, 'shared');
  const list = (status?.serverList ?? []).join(',');
  await until(
    at,
    'the resolver knows them',
    () => resolved(dns('shared', 3)),
    (seen) => !Object.values(seen).includes('nothing'),
    signal,
  );
  await python(at.cluster, CLIENT, FILL, list);
  const probe = async () => JSON.parse(await python(at.cluster, CLIENT, PROBE, list)) as Probe;
  const before = await probe();
  expect(before.lost).toEqual([]);
  await at.cluster.kubectl(['delete', 'pod', names['shared-1'] ?? '', '--grace-period=0', '--force']);
  await until(
    at,
    'the name has a new pod',
    () => namesOf(at, 'shared'),
    (now) => Object.keys(now).length === 3 && now['shared-1'] !== names['shared-1'],
    signal,
  );
  const oldAddresses = await resolved(dns('shared', 3));
  await until(
    at,
    'the resolver knows the new one',
    () => resolved(dns('shared', 3)),
    (seen) => seen[dns('shared', 3)[1] ?? ''] !== 'nothing' && Object.keys(seen).length === 3,
    signal,
  );
  console.log(`addresses: ${JSON.stringify(oldAddresses)}`);
  const isConnected = (seen: Probe | undefined) => seen !== undefined;
  const { value: after } = await until(
    at,
    'clients reach the new one',
    () => probe().catch(() => undefined),
    isConnected,
    signal,
  );
  const keysOfKilled = Object.keys(before.homes).filter((key) => before.homes[key]?.startsWith('shared-1.'));
  console.log(`${after?.lost.length} of 1000 keys are lost, ${keysOfKilled.length} lived on the killed pod`);
  expect(keysOfKilled.length).toBeGreaterThan(100);
  expect(after?.lost).toEqual(keysOfKilled);
  for (let client = 0; client < 5; client += 1) expect((await probe()).homes).toEqual(before.homes);
});

test('an operator that was away while pods were replaced puts the names right', async ({ signal }) => {
  const before = await whole('shared', 3, signal);
  await at.operator.stop();
  await at.cluster.kubectl(['delete', 'pod', before['shared-0'] ?? '', before['shared-2'] ?? '']);
  await at.cluster.kubectl(['rollout', 'status', 'deployment/shared', '--timeout=180s']);
  await sleep(AWAY_MS, undefined, { signal });
  const begin = Date.now();
  at.operator = await Operator.launch(at.kubeconfig);
  const isNew = (names: Names) =>
    Object.keys(names).length === 3 && ['shared-0', 'shared-2'].every((name) => names[name] !== before[name]);
  const { value } = await until(at, 'the names are right', () => namesOf(at, 'shared'), isNew, signal);
  const right = Date.now();
  const inControl = async () => at.operator.logs.find((line) => line.message === 'in control')?.time;
  const { value: since = '' } = await until(at, 'the operator says that it is in control', inControl, Boolean, signal);
  console.log(
    `right ${right - begin} ms after the operator was started, ${right - Date.parse(since)} ms after it was in control`,
  );
  expect(value['shared-1']).toBe(before['shared-1']);
  expect(Object.values(value).toSorted()).toEqual(await podsThatServe('shared'));
});
