/** Two hundred servers that are broken or hostile beside as many good ones: the good ones are heard, and nobody pays for the others. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Memcached, memcachedKind } from '../../src/api/index.ts';
import { podKind } from '../../src/controller/world.ts';
import type { Pod } from '../../src/kubernetes/pod.ts';
import { isWrite, markOf, nameOf, requestsSince, summary } from '../support/audit.ts';
import { FakeMemcacheds, MANNERS, type Manner } from '../support/fake-memcacheds.ts';
import { createReady, isReady, memcached, NAMESPACE, stage, until } from '../support/memcacheds.ts';
import { Operator } from '../support/operator.ts';
import { putSecret, random } from '../support/secrets.ts';

const FLAGS = ['--log-level=debug'];
const at = stage({ name: 'test-statistics', form: 'fake', fakeNodes: 6, audit: true }, FLAGS);
const REPLICAS = 10;
const good = Array.from({ length: 20 }, (_, index) => `good-${index}`);
const hostile = Array.from({ length: 20 }, (_, index) => `hostile-${index}`);
/** Of the good ones, those who have something new to tell in the second round. */
const changed = good.slice(0, 3);
/** 64 KiB of an answer for each, what Node makes of it, and code that is compiled meanwhile. Without a limit it was more in three seconds. */
const MEMORY_MB = 75;
/** On a machine that is slow, a good one may miss its three seconds, and has to wait for the next round. */
const PATIENCE_MS = 300_000;
const timeout = 3 * PATIENCE_MS;
/** A minute, and a tenth of it less, so that they drift apart; and a second, because those who are due in the same one are asked together. */
const SHORTEST_INTERVAL_MS = 53_000;

let servers: FakeMemcacheds;
/** The addresses of their pods. */
let hosts: Map<string, string[]>;

const hostsOf = (names: readonly string[]) => names.flatMap((name) => hosts.get(name) ?? []);

async function shown(): Promise<Map<string, Memcached>> {
  const { items } = await at.client.list<Memcached>(memcachedKind, { namespace: NAMESPACE });
  return new Map(items.map((item) => [item.metadata.name, item]));
}

/** Until each of them shows so many connections. */
function show(names: readonly string[], connections: number, signal: AbortSignal) {
  const isShown = (seen: Map<string, Memcached>) =>
    names.every((name) => seen.get(name)?.status?.currentConnections === connections);
  return until(at, `${names.length} show ${connections} connections`, shown, isShown, signal, PATIENCE_MS);
}

async function memoryMB(field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${at.operator.pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;
}

beforeAll(async () => {
  servers = await FakeMemcacheds.start(at.cluster.instance);
  const names = [...good, ...hostile];
  await Promise.all(names.map((name) => at.client.create(memcachedKind, memcached(name, { replicas: REPLICAS }))));
  const areReady = (seen: Map<string, Memcached>) => seen.size === names.length && [...seen.values()].every(isReady);
  const { ms } = await until(at, 'all are ready', shown, areReady, at.signal, 400_000);
  await show(names, REPLICAS, at.signal);
  const { items } = await at.client.list<Pod>(podKind, { namespace: NAMESPACE });
  const byInstance = Map.groupBy(items, ({ metadata }) => metadata.labels?.['app.kubernetes.io/instance'] ?? '');
  hosts = new Map([...byInstance].map(([name, pods]) => [name, pods.map(({ status }) => status?.podIP ?? '')]));
  console.log(`${items.length} servers of ${names.length} Memcacheds ready after ${Math.round(ms)} ms`);
}, timeout);

afterAll(() => servers?.stop());

/** The pods that were said not to answer, at debug. */
function complaints(): string[] {
  const lines = at.operator.logs.filter(({ message }) => message === 'a server does not answer');
  expect(new Set(lines.map(({ level }) => level))).toEqual(new Set(['debug']));
  return lines.map(({ pod }) => String(pod));
}

test('the good ones are heard, whatever the others do', { timeout }, async ({ signal }) => {
  const manners = Object.keys(MANNERS) as Manner[];
  const bad = hostsOf(hostile);
  expect([hostsOf(good).length, bad.length]).toEqual([200, 200]);
  await at.operator.stop();
  await servers.behave(new Map(bad.map((host, index) => [host, manners[index % manners.length] ?? 'mute'])));
  await servers.count(hostsOf(good), 2);
  const before = await servers.tally();

  const start = performance.now();
  at.operator = await Operator.start(at.kubeconfig, signal, FLAGS);
  const residentMB = await memoryMB('VmRSS');
  const ofGood = await show(good, 2 * REPLICAS, signal);
  const ofHostile = await show(hostile, 0, signal);
  const peakMB = await memoryMB('VmHWM');
  const { asked, bytes } = await servers.tally();

  // Nobody is left out, and nobody is pressed: once, or as often as there was a minute for it.
  const most = 1 + Math.floor((performance.now() - start) / SHORTEST_INTERVAL_MS);
  const times = [...hostsOf(good), ...bad].map((host) => (asked[host] ?? 0) - (before.asked[host] ?? 0));
  expect(Math.min(...times)).toBeGreaterThanOrEqual(1);
  expect(Math.max(...times)).toBeLessThanOrEqual(most);
  for (const name of hostile) expect(ofHostile.value.get(name)?.status).toMatchObject({ hitRatio: '0.00' });
  expect([...ofHostile.value.values()].every(isReady)).toBe(true); // that is for their probes to say
  const mostBytes = Math.max(...bad.map((host) => (bytes[host] ?? 0) - (before.bytes[host] ?? 0)));
  console.log(
    `all good ones shown after ${Math.round(ofGood.ms)} ms, the others given up ${Math.round(ofHostile.ms)} ms later; ` +
      `${residentMB.toFixed(0)} MB at first, ${peakMB.toFixed(0)} MB at most; one got rid of ${(mostBytes / 1e6).toFixed(1)} MB`,
  );
  expect(peakMB - residentMB).toBeLessThan(MEMORY_MB);
});

test('in the next round only news is written, and of who does not answer nothing is said again', { timeout }, async ({
  signal,
}) => {
  const mark = await markOf(at.cluster);
  const before = (await servers.tally()).asked;
  await servers.count(hostsOf(changed), 3);
  const all = [...hosts.values()].flat();
  const areAsked = (asked: Readonly<Record<string, number>>) =>
    all.every((host) => (asked[host] ?? 0) > (before[host] ?? 0));
  const tally = async () => (await servers.tally()).asked;
  const { ms } = await until(at, 'all are asked again', tally, areAsked, signal, PATIENCE_MS);
  await show(changed, 3 * REPLICAS, signal);
  const requests = (await requestsSince(at.cluster, mark)).filter(isWrite);
  console.log(`all ${all.length} servers asked again after ${Math.round(ms)} ms: ${summary(requests)}`);
  const pods = complaints();
  const late = new Set(pods.filter((pod) => pod.startsWith('good-')));
  if (late.size > 0) console.log(`the machine was so slow that ${late.size} good servers missed their time`);
  const isLate = (name: string) => late.values().some((pod) => pod.startsWith(`${name}-`));
  const written = new Set(requests.map(({ objectRef }) => objectRef?.name ?? ''));
  expect([...written].filter((name) => !isLate(name) || changed.includes(name)).toSorted()).toEqual(changed);
  expect(new Set(requests.map(nameOf))).toEqual(new Set(['patch memcacheds/status']));
  const ofHostile = pods.filter((pod) => pod.startsWith('hostile-'));
  expect([ofHostile.length, new Set(ofHostile).size]).toEqual([200, 200]);
});

test('what changes in a Secret may let the operator in: it tries at once, and does not wait for its time', {
  timeout,
}, async ({ signal }) => {
  const logins = { 'memcached-sasl-db': `keystone@locked:${random()}\n` };
  await putSecret(at, 'logins', logins);
  const sasl = { enabled: true, credentialsSecretRef: { name: 'logins' } };
  await createReady(at, memcached('locked', { security: { sasl } }), signal);
  const { items } = await at.client.list<Pod>(podKind, {
    namespace: NAMESPACE,
    labelSelector: 'app.kubernetes.io/instance=locked',
  });
  const [host = ''] = items.map(({ status }) => status?.podIP);
  const times = async () => (await servers.tally()).asked[host] ?? 0;
  let asked = { count: 0, at: 0 };
  const countIsOld = (count: number) => {
    const now = performance.now();
    if (count !== asked.count) asked = { count, at: now };
    return count > 0 && now - asked.at > 15_000; // in vain: it knows no passwords; and not every ten seconds
  };
  await until(at, 'it has been asked, and is left alone', times, countIsOld, signal, PATIENCE_MS);
  await putSecret(at, 'logins', { ...logins, 'another-key': 'of which no pod has to know' });
  const byItself = () => Math.floor((performance.now() - asked.at) / SHORTEST_INTERVAL_MS);
  const isEarly = (count: number) => count > asked.count + byItself();
  const { value: count, ms } = await until(at, 'it is asked for the Secret', times, isEarly, signal, PATIENCE_MS);
  console.log(`asked again ${Math.round(ms)} ms after the Secret had changed`);
  expect(count).toBeGreaterThan(asked.count);
});
