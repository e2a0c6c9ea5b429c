import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Memcached } from '../api/index.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import { ManualClock } from '../runtime/manual-clock.ts';
import { type EventRecorder, eventRecorder, type Happening } from './events.ts';

const memcached: Memcached = {
  apiVersion: 'memcached.c5c3.io/v1alpha1',
  kind: 'Memcached',
  metadata: { name: 'cache', namespace: 'shop', uid: 'uid' },
  spec: {},
};
const created: Happening = { type: 'Normal', reason: 'Created', note: 'Created Deployment cache', action: 'Create' };

/** A recorder, the events that the server has been sent, and the lost ones. Each is answered when told so. */
function scene() {
  const sent: { event: KubernetesObject; answer: (error?: Error) => void }[] = [];
  const lost: unknown[] = [];
  const client = {
    create: (_kind: unknown, event: KubernetesObject) =>
      new Promise<never>((resolve, reject) =>
        sent.push({ event, answer: (error) => (error ? reject(error) : resolve(event as never)) }),
      ),
  };
  const log = { debug: () => {}, error: () => {}, info: (_: string, fields?: object) => lost.push(fields) };
  const clock = new ManualClock();
  const others = { wait: false };
  const recorder: EventRecorder = eventRecorder({
    client,
    log,
    instance: 'pod-1',
    othersWait: () => others.wait,
    now: () => new Date(0),
    clock,
  });
  return { sent, lost, clock, others, ...recorder };
}

test('an event says what happened to whom', async () => {
  const { sent, recordEvent } = scene();
  recordEvent(memcached, created);
  await turn();
  expect(sent[0]?.event).toMatchObject({
    metadata: { namespace: 'shop', name: expect.stringMatching(/^cache\.[0-9a-f]{16}$/) },
    ...created,
    regarding: { kind: 'Memcached', name: 'cache', namespace: 'shop', uid: 'uid' },
    reportingController: 'memcached-operator',
    reportingInstance: 'pod-1',
    eventTime: '1970-01-01T00:00:00.000000Z',
  });
});

test('one is sent after another, in their order, also after one that fails', async () => {
  const { sent, lost, recordEvent, settled } = scene();
  for (const reason of ['One', 'Two', 'Three']) recordEvent(memcached, { ...created, reason });
  const reasons = () => sent.map(({ event }) => (event as KubernetesObject & Happening).reason);
  await turn();
  expect(reasons()).toEqual(['One']);
  sent[0]?.answer(new Error('refused'));
  await turn();
  expect(reasons()).toEqual(['One', 'Two']);
  expect(lost).toEqual([{ namespace: 'shop', name: 'cache', reason: 'One', error: new Error('refused') }]);
  sent[1]?.answer();
  await turn();
  sent[2]?.answer();
  await settled();
  expect(reasons()).toEqual(['One', 'Two', 'Three']);
});

test('it lets those go first who wait for something, unless too many would be waiting', async () => {
  const { sent, clock, others, recordEvent } = scene();
  others.wait = true;
  const pass = async () => {
    clock.advance(100);
    await turn();
  };
  for (let count = 0; count < 700; count += 1) recordEvent(memcached, created);
  await turn();
  await pass();
  expect(sent).toHaveLength(0);
  recordEvent(memcached, created);
  await pass();
  sent[0]?.answer();
  await turn();
  await pass();
  expect(sent).toHaveLength(1);
  others.wait = false;
  await pass();
  expect(sent).toHaveLength(2);
});

test('when too many wait, the next are lost and said to be', async () => {
  const { lost, recordEvent } = scene();
  for (let count = 0; count < 3002; count += 1) recordEvent(memcached, created);
  expect(lost).toHaveLength(2);
});

test('a long note is cut between characters', async () => {
  const { sent, recordEvent } = scene();
  recordEvent(memcached, { ...created, note: `${'x'.repeat(1015)}${'é'.repeat(100)}` });
  await turn();
  expect(sent[0]?.event).toMatchObject({ note: `${'x'.repeat(1015)}…` });
});

test('of a name that is too long for one more, a part will do', async () => {
  const { sent, recordEvent } = scene();
  recordEvent({ ...memcached, metadata: { name: `${'x'.repeat(235)}-${'y'.repeat(17)}` } }, created);
  await turn();
  expect(sent[0]?.event.metadata.name).toMatch(/^x{235}\.[0-9a-f]{16}$/);
});
