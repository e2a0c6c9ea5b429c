/** Attempts to connect, when there is nothing to connect to. */
import { expect, test } from 'vitest';
import { ConnectionLost } from './errors.ts';
import type { Session, SessionEvents } from './session.ts';
import { SessionPool } from './sessions.ts';

const noStream = () => Promise.reject(new Error('not reached'));

/** A pool without a server, that notes its pauses instead of making them. */
function lonelyPool() {
  const pauses: number[] = [];
  let attempts = 0;
  const pool = new SessionPool({
    maxSessions: 1,
    random: () => 1,
    connect: () => {
      attempts += 1;
      return Promise.reject(new ConnectionLost('unreachable', 'nobody there'));
    },
    sleep: (ms) => {
      pauses.push(ms);
      return Promise.resolve();
    },
  });
  return { pool, pauses, attempts: () => attempts };
}

test('the pauses between attempts grow up to a limit', async () => {
  const { pool, pauses } = lonelyPool();
  const { signal } = new AbortController();
  for (let call = 0; call < 12; call += 1) {
    await expect(pool.open({}, signal, noStream)).rejects.toMatchObject({ reason: 'unreachable' });
  }
  expect(pauses).toEqual([100, 200, 400, 800, 1600, 2000, 2000, 2000, 2000, 2000, 2000]);
});

test('who asks at the same time shares the attempt', async () => {
  const { pool, attempts } = lonelyPool();
  const { signal } = new AbortController();
  const calls = Array.from({ length: 100 }, () => pool.open({}, signal, noStream));
  const results = await Promise.allSettled(calls);
  expect(results.map(({ status }) => status)).toEqual(Array(100).fill('rejected'));
  expect(attempts()).toBe(1);
});

test('nobody is connected for those who gave up', async () => {
  const waits: (() => void)[] = [];
  let attempts = 0;
  const pool = new SessionPool({
    maxSessions: 1,
    random: () => 1,
    connect: () => {
      attempts += 1;
      return Promise.reject(new ConnectionLost('unreachable', 'nobody there'));
    },
    sleep: () => new Promise<void>((resolve) => waits.push(resolve)),
  });
  const { signal } = new AbortController();
  await expect(pool.open({}, signal, noStream)).rejects.toMatchObject({ reason: 'unreachable' });
  const impatient = new AbortController();
  const call = pool.open({}, impatient.signal, noStream);
  const reason = new Error('enough');
  impatient.abort(reason);
  await expect(call).rejects.toBe(reason);
  for (const end of waits) end();
  await expect(pool.open({}, AbortSignal.abort(reason), noStream)).rejects.toBe(reason);
  expect(attempts).toBe(1);
});

test('a closed pool lets go of those who wait, and takes no more', async () => {
  const pool = new SessionPool({
    maxSessions: 1,
    random: () => 1,
    connect: (_credential, _events, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new ConnectionLost('unreachable', 'given up')));
      }),
  });
  const { signal } = new AbortController();
  const call = pool.open({}, signal, noStream);
  const [result] = await Promise.allSettled([call, pool.close()]);
  expect(result).toMatchObject({ status: 'rejected', reason: { reason: 'closed' } });
  await expect(pool.open({}, signal, noStream)).rejects.toMatchObject({ reason: 'unreachable' });
});

/** A pool whose server has answered once, and is gone since. Its pauses last until they are ended. */
async function bereavedPool() {
  let isUp = true;
  let isOpen = true;
  let events: SessionEvents | undefined;
  const session = {
    get isOpen() {
      return isOpen;
    },
    get hasRoom() {
      return isOpen;
    },
    isFailure: false,
    streams: 0,
  } as Session;
  const pauses: (() => void)[] = [];
  const pool = new SessionPool({
    maxSessions: 1,
    random: () => 1,
    connect: (_credential, given) => {
      events = given;
      isOpen = isUp;
      return isUp ? Promise.resolve(session) : Promise.reject(new ConnectionLost('unreachable', 'nobody there'));
    },
    sleep: () => new Promise<void>((resolve) => pauses.push(resolve)),
  });
  await pool.open({}, new AbortController().signal, () => Promise.resolve());
  events?.onAnswer();
  isUp = false;
  isOpen = false;
  events?.onClose(session, undefined);
  const pass = async () => {
    await new Promise(setImmediate);
    pauses.shift()?.();
    await new Promise(setImmediate);
  };
  return { pool, pass, comeBack: () => (isUp = true) };
}

test('who waits in an outage begins when it is over', async () => {
  const { pool, pass, comeBack } = await bereavedPool();
  const { signal } = new AbortController();
  let begun = 0;
  const start = () => Promise.resolve((begun += 1));
  const calls = Promise.all([pool.open({}, signal, start), pool.open({}, signal, start)]);
  for (let attempt = 0; attempt < 5; attempt += 1) await pass();
  expect(begun).toBe(0);
  comeBack();
  await pass();
  expect(await calls).toEqual([1, 2]);
});

test('who gives up in an outage hears of it, unless he has a reason of his own', async () => {
  const { pool, pass } = await bereavedPool();
  const [impatient, busy] = [new AbortController(), new AbortController()];
  const calls = [impatient, busy].map(({ signal }) => pool.open({}, signal, noStream));
  await pass();
  impatient.abort(new ConnectionLost('timeout', 'no answer in 30 s'));
  busy.abort('something else to do');
  const results = await Promise.allSettled(calls);
  expect(results).toMatchObject([{ reason: { reason: 'unreachable' } }, { reason: 'something else to do' }]);
});
