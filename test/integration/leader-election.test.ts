/** Several operators on one cluster: one of them writes, whatever becomes of the others or of itself. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { type Memcached, memcachedKind } from '../../src/api/index.ts';
import { LEASE, ownPermissions } from '../../src/controller/permissions.ts';
import type { Lease } from '../../src/kubernetes/lease.ts';
import type { PolicyRule } from '../../src/kubernetes/policy-rule.ts';
import { leaseKind } from '../../src/runtime/leader/lease-record.ts';
import { type AuditEntry, credentialOf, isWrite, markOf, requestsSince, summary } from '../support/audit.ts';
import { change, isReady, memcached, NAMESPACE, stage, until } from '../support/memcacheds.ts';
import { OPERATOR_NAMESPACE, Operator, operatorAccess } from '../support/operator.ts';
import { pidsOf } from '../support/processes.ts';

const at = stage({ name: 'test-leader', form: 'fake', fakeNodes: 2, audit: true });

interface Replica {
  readonly operator: Operator;
  readonly credential: string;
}

let count = 0;
const standing = new Set<Replica>();

/** Another operator; ready, whether it leads or stands by. */
async function launch(signal: AbortSignal): Promise<Replica> {
  count += 1;
  const { kubeconfig, credential } = await operatorAccess(at.cluster, `replica-${count}`);
  const replica = { operator: await Operator.start(kubeconfig, signal, ['--leader-elect']), credential };
  standing.add(replica);
  return replica;
}

afterAll(async () => {
  for (const { operator } of standing) await operator.kill();
});

const says = ({ operator }: Replica, message: string) => operator.logs.some((line) => line.message === message);

/** Two that run: the one that leads, and the one that stands by. */
async function pair(signal: AbortSignal): Promise<{ leader: Replica; other: Replica }> {
  while (standing.size < 2) await launch(signal);
  const [one, two] = [...standing] as [Replica, Replica];
  const look = async () => [one, two].filter((replica) => says(replica, 'leading'));
  const { value } = await until(at, 'one leads', look, ({ length }) => length > 0, signal);
  expect(value).toHaveLength(1);
  return value[0] === one ? { leader: one, other: two } : { leader: two, other: one };
}

/** Waits for its end, which it has come to by itself or by us. */
function ended(replica: Replica): Promise<number | null> {
  standing.delete(replica);
  return replica.operator.ended();
}

/** What a rule allows to be done with Leases. */
const leaseVerbs = ({ resources, verbs }: PolicyRule) => (resources.includes('leases') ? verbs : []);

const lease = () => at.client.get<Lease>(leaseKind, LEASE, OPERATOR_NAMESPACE);

/** Writes about anything but the Lease. */
async function writesSince(mark: number): Promise<AuditEntry[]> {
  await sleep(2000); // the log may be a little late
  const requests = await requestsSince(at.cluster, mark);
  return requests.filter((entry) => isWrite(entry) && entry.objectRef?.resource !== 'leases');
}

const timeOf = (entry: AuditEntry | undefined) => Date.parse(entry?.requestReceivedTimestamp ?? '');

/** Milliseconds from a moment to the first write of one replica, all of which come after the last of another one. */
function takeover(writes: readonly AuditEntry[], from: Replica, to: Replica, since: number): number {
  const before = writes.filter((entry) => credentialOf(entry) === from.credential).map(timeOf);
  const after = writes.filter((entry) => credentialOf(entry) === to.credential).map(timeOf);
  expect(before.length + after.length).toBe(writes.length);
  expect(Math.min(...after)).toBeGreaterThan(Math.max(...before));
  return Math.min(...after) - since;
}

async function createAll(names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => at.client.create(memcachedKind, memcached(name))));
}

async function allReady(names: readonly string[], signal: AbortSignal): Promise<void> {
  const list = async () => {
    await sleep(200);
    return (await at.client.list<Memcached>(memcachedKind, { namespace: NAMESPACE })).items;
  };
  const areReady = (items: readonly Memcached[]) =>
    names.every((name) => items.some((one) => one.metadata.name === name && isReady(one)));
  await until(at, `${names.length} are ready`, list, areReady, signal);
}

const named = (prefix: string, length: number) => Array.from({ length }, (_, index) => `${prefix}-${index}`);
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

test('of two, one writes and the other only watches', async ({ signal }) => {
  await at.operator.stop(); // it does not take part
  const mark = await markOf(at.cluster);
  const { leader, other } = await pair(signal);
  const names = named('both', 20);
  await createAll(names);
  await allReady(names, signal);
  await Promise.all(names.map((name) => change(at, name, { spec: { replicas: 2 } })));
  await allReady(names, signal);

  const { spec } = await lease();
  console.log(JSON.stringify(spec));
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  expect(spec).toEqual({
    holderIdentity: leader.operator.logs.find(({ message }) => message === 'leading')?.['identity'],
    leaseDurationSeconds: 15,
    acquireTime: time,
    renewTime: time,
    leaseTransitions: 0,
  });
  expect(new Set((await writesSince(mark)).map(credentialOf))).toEqual(new Set([leader.credential]));
  const requests = await requestsSince(at.cluster, mark);
  expect(summary(requests.filter(({ responseStatus }) => responseStatus?.code === 403))).toBe('nothing');
  const used = requests.filter(({ objectRef }) => objectRef?.resource === 'leases').map(({ verb }) => verb);
  expect(new Set(used)).toEqual(new Set(ownPermissions().flatMap(leaseVerbs)));
  const isFollowing = ({ verb }: { verb: string }) => verb === 'watch' || verb === 'list'; // where no watch begins with all
  const asked = requests.filter((entry) => credentialOf(entry) === other.credential && !isFollowing(entry));
  console.log(`the one that stands by asked: ${summary(asked)}`);
  expect(new Set(asked.map(({ verb, objectRef }) => `${verb} ${objectRef?.resource}`))).toEqual(
    new Set(['get leases']),
  );
});

test('a leader that is asked to stop hands over at once', async ({ signal }) => {
  const { leader, other } = await pair(signal);
  const mark = await markOf(at.cluster);
  const names = named('stop', 20);
  const transitions = (await lease()).spec?.leaseTransitions ?? 0;
  await createAll(names); // so that it has something to do
  const since = Date.now();
  standing.delete(leader);
  await leader.operator.stop();
  const tookMs = Date.now() - since;
  await createAll(named('after-stop', 5));
  await allReady([...names, ...named('after-stop', 5)], signal);
  const writes = await writesSince(mark);
  console.log(
    `stopped in ${seconds(tookMs)}; the next one wrote ${seconds(takeover(writes, leader, other, since))} after the signal`,
  );
  expect(says(other, 'leading')).toBe(true);
  expect((await lease()).spec?.leaseTransitions).toBe(transitions + 1);
  const said = leader.operator.logs.map(({ message }) => message);
  // What it has done and not told yet is lost: it hands over first.
  const last = said.slice(said.indexOf('stopping')).filter((message) => message !== 'event lost');
  expect(last).toEqual(['stopping', 'stopped']);
});

test('a leader that was killed is followed when its Lease has run out', async ({ signal }) => {
  const { leader, other } = await pair(signal);
  const mark = await markOf(at.cluster);
  const names = named('kill', 20);
  await createAll(names);
  const since = Date.now();
  standing.delete(leader);
  await leader.operator.kill();
  await allReady(names, signal);
  const followed = takeover(await writesSince(mark), leader, other, since);
  console.log(`the next one wrote ${seconds(followed)} after the kill`);
  expect(says(other, 'leading')).toBe(true);
});

test('a leader that was stopped for a minute writes nothing when it goes on, and ends', async ({ signal }) => {
  const { leader, other } = await pair(signal);
  const mark = await markOf(at.cluster);
  const names = named('sleep', 30);
  await createAll(names);
  await sleep(150); // in the midst of its work
  const stopped = Date.now();
  process.kill(leader.operator.pid, 'SIGSTOP');
  await allReady(names, signal);
  const followed = takeover(await writesSince(mark), leader, other, stopped);
  await Promise.all(names.map((name) => change(at, name, { spec: { replicas: 3 } }))); // it will hear of all this, late
  await sleep(Math.max(0, 60_000 - (Date.now() - stopped)));
  const woken = Date.now();
  process.kill(leader.operator.pid, 'SIGCONT');
  expect(await ended(leader)).toBe(1);
  const endedMs = Date.now() - woken;
  await createAll(named('awake', 5));
  await allReady([...names, ...named('awake', 5)], signal);

  const late = (await writesSince(mark)).filter((entry) => timeOf(entry) >= woken);
  const refused = leader.operator.logs.filter((line) => JSON.stringify(line).includes('SendRefused'));
  console.log(
    `the next one wrote ${seconds(followed)} after the stop; the old one ended ${endedMs} ms after it went on, with ${refused.length} writes refused`,
  );
  expect(summary(late.filter((entry) => credentialOf(entry) !== other.credential))).toBe('nothing');
  expect(leader.operator.logs.at(-1)).toMatchObject({ level: 'error', message: 'leadership lost' });
});

/** With an API server that is there but does not answer. */
async function whileSilent<T>(act: () => Promise<T>): Promise<T> {
  const { 'kube-apiserver': pid } = await pidsOf(at.cluster.instance, ['kube-apiserver']);
  process.kill(Number(pid), 'SIGSTOP');
  try {
    return await act();
  } finally {
    process.kill(Number(pid), 'SIGCONT');
  }
}

test('a leader that cannot renew its Lease ends, and the other leads when it can', async ({ signal }) => {
  const { leader, other } = await pair(signal);
  const since = Date.now();
  const code = await whileSilent(() => ended(leader));
  const tookMs = Date.now() - since;
  expect(code).toBe(1);
  expect(leader.operator.logs.at(-1)).toMatchObject({ level: 'error', message: 'leadership lost' });
  const back = Date.now();
  await createAll(named('silence', 5));
  await allReady(named('silence', 5), signal);
  console.log(
    `ended ${seconds(tookMs)} after the API server fell silent; 5 Memcacheds ready ${seconds(Date.now() - back)} after it was back`,
  );
  expect(says(other, 'leading')).toBe(true);
});

test('asked to stop while the API server is silent, it ends in time; asked twice, at once', async ({ signal }) => {
  const { leader } = await pair(signal);
  const once = await whileSilent(async () => {
    const since = Date.now();
    process.kill(leader.operator.pid, 'SIGTERM');
    expect(await ended(leader)).toBe(0);
    return Date.now() - since;
  });
  const { leader: next } = await pair(signal);
  const twice = await whileSilent(async () => {
    const since = Date.now();
    process.kill(next.operator.pid, 'SIGTERM');
    await until(at, 'it stops', async () => says(next, 'stopping'), Boolean, signal);
    process.kill(next.operator.pid, 'SIGTERM');
    expect(await ended(next)).toBe(1);
    return Date.now() - since;
  });
  console.log(`asked once: ${seconds(once)}; asked twice: ${seconds(twice)}`);
  at.operator = await Operator.start(at.kubeconfig, signal); // for whoever stops it in the end
});
