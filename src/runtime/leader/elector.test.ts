/** Leader election on a clock of its own: who leads, for how long at most, and who is next. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ManualClock } from '../manual-clock.ts';
import { LeaderElector, RENEW_DEADLINE_MS } from './elector.ts';
import { clientOf, type Fate, LeaseServer, type Message } from './lease-server.ts';

const never = new AbortController().signal;
const LEASE_MS = 15_000;
const STEP_MS = 100;

/** One server, and candidates that share a clock. */
function scene() {
  const clock = new ManualClock();
  const server = new LeaseServer();
  /** Lets time pass, and everybody act meanwhile. */
  const pass = async (ms: number) => {
    for (let left = ms; ; left -= STEP_MS) {
      for (let messages = 0; messages < 4; messages += 1) {
        clock.advance(0);
        await turn();
      }
      if (left <= 0) break;
      clock.advance(Math.min(STEP_MS, left));
    }
  };
  const candidate = (identity: string, now = () => new Date(Date.UTC(2025, 0, 1) + clock.now())) => {
    const line: Record<Message, Fate> = { request: 'arrives', answer: 'arrives' };
    const delay = { ms: 0 };
    const send = (what: Message) => ({ fate: line[what], ...delay });
    const client = clientOf(server, { network: clock, process: clock, send });
    const said: unknown[][] = [];
    const lost: number[] = [];
    const record = (level: string) => (message: string, fields: object) => said.push([level, message, fields]);
    const elector = new LeaderElector({
      client,
      namespace: 'system',
      name: 'lock',
      identity,
      log: { debug: record('debug'), info: record('info'), error: record('error') } as never,
      onLost: () => lost.push(clock.now()),
      clock,
      now,
      random: () => 0,
    });
    return { elector, client, said, lost, line, delay };
  };
  return { clock, server, pass, candidate };
}

test('the first one makes the Lease, as other Kubernetes components write it', async () => {
  const { server, pass, candidate } = scene();
  const one = candidate('one');
  expect(one.elector.isLeading).toBe(false);
  const leads = one.elector.lead(never);
  await pass(100);
  await leads;
  expect(one.elector.isLeading).toBe(true);
  expect(one.said).toEqual([['info', 'leading', { lease: 'system/lock', identity: 'one' }]]);
  expect(server.lease).toMatchObject({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'lock', namespace: 'system' },
    spec: {
      holderIdentity: 'one',
      leaseDurationSeconds: 15,
      acquireTime: '2025-01-01T00:00:00.000000Z',
      renewTime: '2025-01-01T00:00:00.000000Z',
      leaseTransitions: 0,
    },
  });
  await pass(4000);
  expect(server.lease?.spec).toMatchObject({
    acquireTime: '2025-01-01T00:00:00.000000Z',
    renewTime: '2025-01-01T00:00:04.000000Z',
    leaseTransitions: 0,
  });
  expect(one.client.sent).toEqual(['get', 'create', 'patch', 'patch']);
});

test('the second one only looks, until the first lets go; then it leads soon', async () => {
  const { server, pass, candidate } = scene();
  const [one, two] = [candidate('one'), candidate('two')];
  await Promise.all([one.elector.lead(never), pass(100)]);
  const leads = two.elector.lead(never);
  await pass(60_000);
  expect([one.elector.isLeading, two.elector.isLeading]).toEqual([true, false]);
  expect(new Set(two.client.sent)).toEqual(new Set(['get']));
  expect(two.said).toEqual([['info', 'standing by', { lease: 'system/lock', identity: 'two', leader: 'one' }]]);

  const released = one.elector.release();
  expect(one.elector.isLeading).toBe(false); // before anybody else can know
  await pass(100);
  await released;
  expect(server.lease?.spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 0 });
  await pass(2000);
  await leads;
  expect(two.elector.isLeading).toBe(true);
  expect(server.lease?.spec).toMatchObject({ holderIdentity: 'two', leaseTransitions: 1 });
  expect(one.lost).toEqual([]);
  const before = one.client.sent.length;
  await pass(20_000);
  expect(one.client.sent).toHaveLength(before);
});

test('a leader that fell silent is left alone for the time of its Lease, counted from when it was last seen to renew it', async () => {
  const { clock, pass, candidate } = scene();
  const [one, two] = [candidate('one'), candidate('two')];
  await Promise.all([one.elector.lead(never), pass(100)]);
  await pass(60_000);
  one.line.request = 'vanishes';
  const silentSince = clock.now();
  const leads = two.elector.lead(never); // though the Lease may be old, it has only just seen it
  await pass(LEASE_MS - STEP_MS);
  expect(two.elector.isLeading).toBe(false);
  await pass(STEP_MS); // it does not sleep beyond that moment
  await leads;
  expect(two.elector.isLeading).toBe(true);
  expect(one.lost).toHaveLength(1);
  expect(one.lost[0]).toBeLessThanOrEqual(silentSince + RENEW_DEADLINE_MS);
});

test.for<{ what: Message; fate: Fate }>([
  { what: 'request', fate: 'breaks' },
  { what: 'request', fate: 'vanishes' },
  { what: 'answer', fate: 'breaks' },
  { what: 'answer', fate: 'vanishes' },
])('when each $what $fate, it leads no longer than the deadline', async ({ what, fate }) => {
  const { pass, candidate } = scene();
  const one = candidate('one');
  await Promise.all([one.elector.lead(never), pass(100)]);
  one.line[what] = fate;
  await pass(RENEW_DEADLINE_MS - 200);
  expect([one.elector.isLeading, one.lost]).toEqual([true, []]);
  await pass(100);
  expect([one.elector.isLeading, one.lost]).toEqual([false, [RENEW_DEADLINE_MS]]);
  const fields = { lease: 'system/lock', identity: 'one' };
  expect(one.said.at(-1)).toEqual(['error', 'leadership lost', { ...fields, notRenewedForMs: RENEW_DEADLINE_MS }]);
  expect(one.said.filter(([, message]) => message === 'lease out of reach')).toHaveLength(1);
  const before = one.client.sent.length;
  one.line[what] = 'arrives';
  await pass(60_000);
  expect(one.client.sent).toHaveLength(before);
  expect(one.lost).toHaveLength(1);
});

test('a short trouble is survived, told once, and told again when it comes again', async () => {
  const { server, pass, candidate } = scene();
  const one = candidate('one');
  await Promise.all([one.elector.lead(never), pass(100)]);
  for (let count = 1; count <= 2; count += 1) {
    one.line.answer = 'breaks'; // it is renewed, but does not hear of it: the next renewal knows an old version
    await pass(5000);
    one.line.answer = 'arrives';
    await pass(20_000);
    expect([one.elector.isLeading, one.lost]).toEqual([true, []]);
    expect(one.said.filter(([, message]) => message === 'lease out of reach')).toHaveLength(count);
  }
  expect(server.lease?.spec).toMatchObject({ acquireTime: '2025-01-01T00:00:00.000000Z', leaseTransitions: 0 });
});

test('a renewal that nobody can see is none: the time of day stands still', async () => {
  const { pass, candidate } = scene();
  const one = candidate('one', () => new Date(0));
  await Promise.all([one.elector.lead(never), pass(100)]);
  await pass(RENEW_DEADLINE_MS);
  expect(one.lost).toEqual([RENEW_DEADLINE_MS]);
});

test('a process that was stopped leads no more when it goes on, before it has heard or done anything', async () => {
  const { clock, server, pass, candidate } = scene();
  const one = candidate('one');
  await Promise.all([one.elector.lead(never), pass(100)]);
  const { length } = one.client.sent;
  server.patch({ ...server.get(), spec: { holderIdentity: 'two' } });
  // All timers are overdue at once, that of the renewal before that of the deadline.
  clock.advance(60_000);
  expect(one.elector.isLeading).toBe(false);
  await pass(5000);
  expect(one.client.sent).toHaveLength(length);
  expect(one.lost).toHaveLength(1);
});

test('a leader who finds another one in the Lease has lost', async () => {
  const { clock, server, pass, candidate } = scene();
  const one = candidate('one');
  await Promise.all([one.elector.lead(never), pass(100)]);
  server.patch({ ...server.get(), spec: { holderIdentity: 'two' } });
  await pass(2100);
  expect(one.lost).toEqual([2000]);
  expect(clock.timers).toBe(0);
  const fields = { lease: 'system/lock', identity: 'one', leader: 'two' };
  expect(one.said.at(-1)).toEqual(['error', 'leadership lost', fields]);
  await one.elector.release();
  expect(server.lease?.spec?.holderIdentity).toBe('two'); // nothing of ours to give back
});

test('a leader whose Lease was deleted has lost', async () => {
  const { server, pass, candidate } = scene();
  const one = candidate('one');
  await Promise.all([one.elector.lead(never), pass(100)]);
  server.lease = undefined;
  await pass(2100);
  expect(one.lost).toEqual([2000]);
  expect(server.lease).toBeUndefined();
});

test('of several who find the Lease free, the server lets one have it', async () => {
  const { server, pass, candidate } = scene();
  const all = Array.from({ length: 5 }, (_, index) => candidate(String(index)));
  for (const { elector } of all) void elector.lead(never);
  await pass(10_000);
  expect(all.filter(({ elector }) => elector.isLeading)).toHaveLength(1);
  expect(new Set(server.history.map(({ spec }) => spec?.holderIdentity)).size).toBe(1);
});

test('asked to stop while it stands by, it ends at once and leaves the Lease alone', async () => {
  const { clock, server, pass, candidate } = scene();
  const [one, two] = [candidate('one'), candidate('two')];
  await Promise.all([one.elector.lead(never), pass(100)]);
  const stop = new AbortController();
  const ended = two.elector.lead(stop.signal);
  await pass(3000);
  const { timers } = clock;
  stop.abort();
  await ended;
  await two.elector.release();
  expect(clock.timers).toBe(timers - 1);
  expect(server.lease?.spec?.holderIdentity).toBe('one');
  expect(two.lost).toEqual([]);
});

test('released in the midst of a renewal, it waits for that one and leads no more', async () => {
  const { server, pass, candidate } = scene();
  const one = candidate('one');
  await Promise.all([one.elector.lead(never), pass(100)]);
  one.delay.ms = 500;
  await pass(2200);
  expect(one.client.sent).toEqual(['get', 'create', 'patch']);
  const released = one.elector.release();
  for (let step = 0; step < 40; step += 1) {
    expect(one.elector.isLeading).toBe(false);
    await pass(STEP_MS);
  }
  await released;
  expect(one.client.sent).toEqual(['get', 'create', 'patch', 'get', 'patch']);
  expect(server.history.map(({ spec }) => spec?.holderIdentity)).toEqual(['one', 'one', '']);
});

test('what cannot be given back is told, and nobody waits for it for long', async () => {
  const { clock, pass, candidate } = scene();
  const one = candidate('one');
  await Promise.all([one.elector.lead(never), pass(100)]);
  one.line.request = 'vanishes';
  const released = one.elector.release();
  await pass(5000);
  await released;
  expect(one.said.at(-1)).toMatchObject(['error', 'lease out of reach', { error: { message: 'no answer in 4 s' } }]);
  expect(clock.timers).toBe(0);
});
