import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { LogFields } from '../../runtime/log.ts';
import { ManualClock } from '../../runtime/manual-clock.ts';
import type { Access } from './access.ts';
import { Gatherer, type GathererOptions, type ServingPod } from './gatherer.ts';

const INTERVAL_MS = 60_000;
const EVERY = '0.0.0.0';

/** One listener for all addresses of this machine that no packet leaves by: each of them is a pod. */
let listener: Server;
let asked: string[];
let answer: (socket: Socket, host: string) => void;

beforeEach(async () => {
  asked = [];
  answer = (socket) => socket.write(stats(1));
  listener = createServer((socket) => {
    const host = socket.localAddress ?? '';
    socket.on('error', () => {});
    socket.on('data', () => {
      asked.push(host);
      answer(socket, host);
    });
  }).listen(0, EVERY);
  await once(listener, 'listening');
});

afterEach(() => void listener.close());

function stats(hits: number): string {
  const zero = ['get_misses', 'curr_items', 'bytes', 'limit_maxbytes', 'evictions', 'uptime', 'curr_connections'];
  const figures = ['version 1.6.45', `get_hits ${hits}`, ...zero.map((name) => `${name} 0`)];
  return `${figures.map((figure) => `STAT ${figure}\r\n`).join('')}END\r\n`;
}

function pod(number: number): ServingPod {
  return { name: `pod-${number}`, host: `127.0.${Math.floor(number / 200)}.${(number % 200) + 2}` };
}

const plain: Access = { server: {} };

function started(options: Partial<GathererOptions> = {}) {
  const clock = new ManualClock();
  const logged: { message: string; fields: LogFields }[] = [];
  const gathered: string[] = [];
  const gatherer = new Gatherer({
    podsOf: () => [pod(0), pod(1)],
    accessOf: async () => plain,
    intervalOf: () => INTERVAL_MS,
    onGathered: (key) => gathered.push(key),
    port: (listener.address() as AddressInfo).port,
    log: {
      debug: (message, fields = {}) => logged.push({ message, fields }),
      info: () => expect.unreachable(),
      error: () => expect.unreachable(),
    },
    clock,
    random: () => 0.5,
    ...options,
  });
  return { gatherer, clock, logged, gathered };
}

/** Until so many rounds of questions have ended. */
async function rounds(gathered: readonly string[], count: number): Promise<void> {
  await vi.waitFor(() => expect(gathered).toHaveLength(count), { timeout: 30_000 });
}

test('asks every server once in each interval, and tells what they say', async () => {
  const { gatherer, clock, gathered } = started();
  gatherer.follow('default/a');
  gatherer.follow('default/a');
  expect(gatherer.answersOf('default/a')).toBeUndefined();
  clock.advance(2000);
  await rounds(gathered, 1);
  expect(asked.toSorted()).toEqual([pod(0).host, pod(1).host]);
  expect(gatherer.answersOf('default/a')).toMatchObject([
    { pod: 'pod-0', figures: { hits: 1 } },
    { pod: 'pod-1', figures: { hits: 1 } },
  ]);
  answer = (socket) => socket.write(stats(7));
  await vi.waitFor(() => {
    clock.advance(INTERVAL_MS);
    expect(gathered.length).toBeGreaterThan(1);
  });
  expect(gatherer.answersOf('default/a')?.[0]?.figures.hits).toBe(7);
  gatherer.close();
  expect(gatherer.answersOf('default/a')).toBeUndefined();
});

test('a connection is kept to a server that is not new, while that keeps it, and ends with the interest', async () => {
  const sockets: Socket[] = [];
  listener.on('connection', (socket) => sockets.push(socket));
  const { gatherer, clock, gathered } = started({ podsOf: () => [pod(0)] });
  const roundAfter = async (ms: number) => {
    await vi.waitFor(() => expect(clock.timers).toBe(1));
    clock.advance(ms);
    await rounds(gathered, gathered.length + 1);
  };
  gatherer.follow('default/a');
  await roundAfter(2000);
  gatherer.hurry('default/a'); // another server has come
  await roundAfter(2000);
  await vi.waitFor(() => expect(sockets.map(({ closed }) => closed)).toEqual([true, true]));
  for (let round = 0; round < 3; round += 1) await roundAfter(INTERVAL_MS);
  expect(sockets.map(({ closed }) => closed)).toEqual([true, true, false]);
  sockets[2]?.destroy(); // as when the server is started anew
  await vi.waitFor(async () => {
    await roundAfter(INTERVAL_MS);
    expect(sockets).toHaveLength(4);
  });
  expect(gatherer.answersOf('default/a')).toHaveLength(1);
  gatherer.forget('default/a');
  await vi.waitFor(() => expect(sockets.filter(({ closed }) => !closed)).toEqual([]));
});

test('a kept connection that has died without a word is replaced in the same round', { timeout: 30_000 }, async () => {
  let connections = 0;
  listener.on('connection', () => (connections += 1));
  const { gatherer, clock, gathered } = started({ podsOf: () => [pod(0)] });
  gatherer.follow('default/a');
  for (let round = 1; round <= 2; round += 1) {
    clock.advance(INTERVAL_MS);
    await rounds(gathered, round);
    await vi.waitFor(() => expect(clock.timers).toBe(1));
  }
  expect(connections).toBe(2);
  answer = (socket) => {
    if (connections > 2) socket.write(stats(5)); // nothing comes back over the kept one any more
  };
  clock.advance(INTERVAL_MS);
  await rounds(gathered, 3);
  expect(connections).toBe(3);
  expect(gatherer.answersOf('default/a')).toMatchObject([{ figures: { hits: 5 } }]);
  gatherer.close();
});

test('new servers are asked in a moment, once', async () => {
  const { gatherer, clock, gathered } = started();
  gatherer.hurry('default/a'); // of which nothing is known
  gatherer.follow('default/a');
  clock.advance(2000);
  await rounds(gathered, 1);
  await vi.waitFor(() => expect(clock.timers).toBe(1));
  gatherer.hurry('default/a');
  gatherer.hurry('default/a');
  expect(clock.timers).toBe(1);
  clock.advance(2000);
  await rounds(gathered, 2);
  gatherer.close();
});

test('a server that comes while others are asked is asked in a moment, too', async () => {
  let pods = [pod(0)];
  let release = () => {};
  answer = (socket) => {
    release = () => socket.write(stats(1));
  };
  const { gatherer, clock, gathered } = started({ podsOf: () => pods });
  gatherer.follow('default/a');
  clock.advance(2000);
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  pods = [pod(0), pod(1)];
  gatherer.hurry('default/a');
  answer = (socket) => socket.write(stats(1));
  release();
  await rounds(gathered, 1);
  await vi.waitFor(() => expect(clock.timers).toBe(1));
  clock.advance(2000);
  await rounds(gathered, 2);
  expect(gatherer.answersOf('default/a')).toHaveLength(2);
  gatherer.close();
});

test('what a server told is forgotten when it goes, also in the midst of a round', async () => {
  let pods = [pod(0), pod(1), pod(2)];
  const { gatherer, clock, gathered } = started({ podsOf: () => pods });
  answer = (socket) => {
    pods = [pod(0), pod(1)];
    socket.write(stats(1));
  };
  const named = () => gatherer.answersOf('default/a')?.map(({ pod: name }) => name);
  gatherer.dismiss('default/a', 'pod-0'); // of which nothing is known
  gatherer.follow('default/a');
  gatherer.dismiss('default/a', 'pod-0'); // and nothing was told
  clock.advance(2000);
  await rounds(gathered, 1);
  expect(named()).toEqual(['pod-0', 'pod-1']);
  gatherer.dismiss('default/a', 'pod-0');
  expect(named()).toEqual(['pod-1']);
  gatherer.close();
});

test('nobody waits for longer than the interval', async () => {
  for (const random of [0, 0.999]) {
    const { gatherer, clock, gathered } = started({ random: () => random });
    gatherer.follow('default/a');
    clock.advance(2000);
    await rounds(gathered, 1);
    await vi.waitFor(() => expect(clock.timers).toBe(1));
    clock.advance(INTERVAL_MS * 0.91);
    expect(clock.timers).toBe(random === 0 ? 1 : 0);
    clock.advance(INTERVAL_MS * 0.09);
    await rounds(gathered, 2);
    gatherer.close();
  }
});

test('while connections are made, questions are spread over time; later ones are asked together in the same second', async () => {
  const numbers = [0, 0.2, 0.4, 0.6, 0.8];
  let next = 0;
  const begun: number[] = [];
  const { gatherer, clock, gathered } = started({
    random: () => numbers[next++ % numbers.length] ?? 0,
    async accessOf() {
      begun.push(clock.now());
      return plain;
    },
  });
  for (const index of numbers.keys()) gatherer.follow(`default/${index}`);
  clock.advance(2000);
  await rounds(gathered, numbers.length);
  expect(new Set(begun).size).toBe(numbers.length);
  await vi.waitFor(() => expect(clock.timers).toBe(numbers.length));
  clock.advance(INTERVAL_MS);
  await rounds(gathered, 2 * numbers.length);
  // Who is met now is kept in touch with, so that this is the last time that connections are made.
  expect(new Set(begun.slice(numbers.length).map(Math.round))).toEqual(
    new Set([57_200, 58_400, 59_600, 60_800, 62_000]),
  );
  await vi.waitFor(() => expect(clock.timers).toBe(numbers.length));
  clock.advance(INTERVAL_MS);
  await rounds(gathered, 3 * numbers.length);
  expect(begun.slice(2 * numbers.length).map((ms) => ms % 1000)).toEqual(numbers.map(() => 0));
  gatherer.close();
});

test('a new server that goes before it has answered holds up nobody', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] }); // nobody is given up
  onTestFinished(() => void vi.useRealTimers());
  const round = Promise.withResolvers<string>();
  const { gatherer, clock } = started({ podsOf: () => [pod(0)], onGathered: round.resolve });
  answer = () => gatherer.dismiss('default/a', 'pod-0');
  gatherer.follow('default/a');
  clock.advance(2000);
  await round.promise;
  expect([asked.length, gatherer.answersOf('default/a')]).toEqual([1, []]);
  gatherer.close();
});

test('a Memcached that is forgotten is asked no more, not even to the end of a round', async () => {
  const { gatherer, clock, gathered } = started();
  let release = () => {};
  answer = (socket) => {
    release = () => socket.write(stats(1));
  };
  gatherer.follow('default/a');
  clock.advance(2000);
  await vi.waitFor(() => expect(asked).toHaveLength(2));
  gatherer.forget('default/a');
  release();
  clock.advance(10 * INTERVAL_MS);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect([asked.length, gathered]).toEqual([2, []]);
});

test('a server that does not answer is passed over, and spoken of once', async () => {
  const { gatherer, clock, gathered, logged } = started();
  answer = (socket, host) => (host === pod(0).host ? socket.destroy() : socket.write(stats(1)));
  gatherer.follow('default/a');
  for (let round = 1; round <= 3; round += 1) {
    await vi.waitFor(() => {
      clock.advance(INTERVAL_MS);
      expect(gathered).toHaveLength(round);
    });
    expect(gatherer.answersOf('default/a')?.map(({ pod: name }) => name)).toEqual(['pod-1']);
  }
  expect(logged.map(({ message, fields }) => [message, fields['pod']])).toEqual([
    ['a server does not answer', 'pod-0'],
  ]);
  gatherer.close();
});

test('where nobody answers, servers are asked less and less often, until there are new ones or somebody does', async () => {
  const { gatherer, clock, gathered } = started({ podsOf: () => [pod(0)], random: () => 0 });
  const begun: number[] = [];
  const later = async (count: number) => {
    for (let round = 0; round < count; round += 1) {
      const before = gathered.length;
      await vi.waitFor(() => expect(clock.timers).toBe(1));
      while (clock.timers > 0) clock.advance(1000);
      begun.push(clock.now());
      await rounds(gathered, before + 1);
    }
  };
  const pauses = () => begun.slice(1).map((at, index) => Math.round((at - (begun[index] ?? 0)) / 1000));
  answer = (socket) => socket.destroy();
  gatherer.follow('default/a');
  await later(7);
  expect(pauses()).toEqual([60, 120, 240, 300, 300, 300]);
  gatherer.hurry('default/a');
  await later(3);
  expect(pauses().slice(-2)).toEqual([60, 120]);
  answer = (socket) => {
    gatherer.hurry('default/a'); // a new one, in the midst of a round, which does not know of it
    answer = (other) => other.destroy();
    socket.destroy();
  };
  await later(3);
  expect(pauses().slice(-2)).toEqual([1, 60]);
  gatherer.retry('default/a');
  await later(2);
  expect(pauses().slice(-2)).toEqual([1, 240]);
  answer = (socket) => socket.write(stats(1));
  await later(2);
  expect(pauses().slice(-2)).toEqual([300, 60]);
  gatherer.retry('default/a'); // he who answers is not pressed
  await later(1);
  expect(pauses().slice(-1)).toEqual([60]);
  gatherer.close();
});

test('where the way in is not known, what was known stays', async () => {
  let isKnown = true;
  const accessOf = async () => {
    if (!isKnown) throw new Error('the Secret cannot be read');
    return plain;
  };
  const { gatherer, clock, gathered, logged } = started({ accessOf });
  gatherer.follow('default/a');
  clock.advance(2000);
  await rounds(gathered, 1);
  isKnown = false;
  await vi.waitFor(() => {
    clock.advance(INTERVAL_MS);
    expect(logged.map(({ message }) => message)).toContain('servers cannot be asked');
  });
  expect(gatherer.answersOf('default/a')).toHaveLength(2);
  gatherer.close();
});

test('200 hostile servers delay nobody', { timeout: 60_000 }, async () => {
  const count = 200;
  const told = new Map<string, number>();
  const begin = performance.now();
  const { gatherer, clock } = started({
    podsOf: (key) => [pod(Number(key.split('-')[1]))],
    onGathered: (key) => told.set(key, performance.now() - begin),
    random: Math.random,
  });
  const isHostile = (host: string) => host.startsWith('127.0.0.');
  answer = (socket, host) => (isHostile(host) ? undefined : socket.write(stats(1)));
  const keys = Array.from({ length: 2 * count }, (_, number) => `default/mc-${number}`);
  for (const key of keys) gatherer.follow(key);
  clock.advance(2000);
  const good = keys.slice(count);
  await vi.waitFor(() => expect(good.every((key) => told.has(key))).toBe(true), { timeout: 30_000 });
  const slowest = Math.round(Math.max(...good.map((key) => told.get(key) ?? 0)));
  console.log(`the last of ${count} good servers was heard after ${slowest} ms, beside as many mute ones`);
  expect(good.every((key) => gatherer.answersOf(key)?.[0]?.figures.hits === 1)).toBe(true);
  gatherer.close();
});
