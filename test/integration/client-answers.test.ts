/** Answers that are late, partial, or not what was hoped for. */
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { type Credential, refreshedCredentials } from '../../src/runtime/client/credentials.ts';
import { ApiError, ConnectionLost, SendRefused } from '../../src/runtime/client/errors.ts';
import type { RequestInfo } from '../../src/runtime/client/options.ts';
import {
  begunWatch,
  clientOf,
  configMap,
  configMaps,
  failure,
  faultyServer,
  line,
  read,
  watchable,
  write,
} from '../support/client-cases.ts';

const never = new AbortController().signal;

test('a request says what it wants, who asks and who he is', async () => {
  let asked: object = {};
  const server = await faultyServer({
    onRequest: ({ headers, answer }) => {
      asked = headers;
      answer(200, configMap('a'));
    },
  });
  const access = {
    ...server.access(),
    server: `${server.access().server}/k8s`,
    headers: { 'impersonate-user': 'jane' },
  };
  await clientOf(server, { access }).get(configMaps, 'a', 'default', { metadataOnly: true });
  expect(asked).toMatchObject({
    ':method': 'GET',
    ':path': '/k8s/api/v1/namespaces/default/configmaps/a',
    accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    'user-agent': 'test/1',
    authorization: 'Bearer secret',
    'impersonate-user': 'jane',
  });
  expect(asked).not.toHaveProperty('accept-encoding');
});

test.for([
  { what: '429 with Retry-After', status: 429, headers: { 'retry-after': '0' }, call: write, requests: 3 },
  { what: '503 with Retry-After, a read', status: 503, headers: { 'retry-after': '0' }, call: read, requests: 3 },
] as const)('$what is asked again', async ({ status, headers, call, requests }) => {
  const server = await faultyServer({
    onRequest: ({ index, answer }) => (index < 2 ? answer(status, 'busy', headers) : answer(200, configMap('a'))),
  });
  const told: RequestInfo[] = [];
  await call(clientOf(server, { onRequest: (info) => told.push(info) }));
  expect(server.requests).toBe(requests);
  expect(told.map(({ code }) => code)).toEqual([status, status, 200]);
});

test('what may be sent is asked on each attempt', async () => {
  let maySend = true;
  const server = await faultyServer({ onRequest: ({ answer }) => answer(429, 'busy', { 'retry-after': '0' }) });
  const onRequest = () => {
    maySend = false;
  };
  const client = clientOf(server, { maySend: () => maySend, onRequest });
  expect(await failure(write(client))).toBeInstanceOf(SendRefused);
  expect(await failure(write(client))).toMatchObject({
    message: 'nothing may be sent any more: create /api/v1/namespaces/default/configmaps was not',
  });
  expect(server.requests).toBe(1);
});

test('what may be sent is asked when all else is ready, not before', async () => {
  const { promise: isConnecting, resolve: connecting } = Promise.withResolvers<void>();
  const { promise: hasToken, resolve: giveToken } = Promise.withResolvers<Credential>();
  const server = await faultyServer({ onRequest: ({ answer }) => answer(200, configMap('a')) });
  const access = {
    ...server.access(),
    credentials: {
      current: () => {
        connecting();
        return hasToken;
      },
      reject: () => undefined,
    },
  };
  let maySend = true;
  const written = failure(write(clientOf(server, { access, maySend: () => maySend })));
  await isConnecting;
  maySend = false;
  giveToken({ token: 'secret' });
  expect(await written).toBeInstanceOf(SendRefused);
  expect(server.requests).toBe(0);
});

test('what was handed to HTTP/2 in time, but has not left yet, is held back too', async () => {
  let maySend = true;
  const server = await faultyServer({ onRequest: ({ answer }) => answer(200, configMap('a')) });
  const asked: string[] = [];
  const client = clientOf(server, {
    maySend: () => {
      asked.push(new Error('asked').stack?.includes('GuardedSocket') ? 'connection' : 'request');
      return maySend;
    },
  });
  await write(client);
  asked.length = 0;
  const written = failure(write(client));
  while (!asked.includes('request')) await Promise.resolve(); // and no further: the event loop has not come round
  expect(asked).toEqual(['request']);
  maySend = false; // as if it had been stopped here for a minute
  expect(await written).toBeInstanceOf(ConnectionLost);
  expect(asked).toContain('connection');
  maySend = true;
  await write(client); // on a new connection
  expect([server.requests, server.connections]).toEqual([2, 2]);
});

test.for([
  { what: '503 with Retry-After, a write', status: 503, after: '7', call: write, seconds: 7 },
  { what: '503 without', status: 503, after: undefined, call: read, seconds: undefined },
  { what: '429 for an hour', status: 429, after: '3600', call: read, seconds: 3600 },
  { what: '500', status: 500, after: '1', call: read, seconds: 1 },
  { what: '409', status: 409, after: undefined, call: write, seconds: undefined },
] as const)('$what is told at once', async ({ status, after, call, seconds }) => {
  const headers: Record<string, string> = after === undefined ? {} : { 'retry-after': after };
  const server = await faultyServer({ onRequest: ({ answer }) => answer(status, 'no', headers) });
  const error = await failure(call(clientOf(server)));
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ status, message: 'no' });
  expect((error as ApiError).retryAfterSeconds).toBe(seconds);
  expect(server.requests).toBe(1);
});

test.for([
  { call: read, verb: 'get' },
  { call: write, verb: 'create' },
])('plain text and empty answers to $verb', async ({ call, verb }) => {
  const server = await faultyServer({
    onRequest: ({ index, answer }) => answer(404, ['404 page not found\n', ''][index]),
  });
  const told: RequestInfo[] = [];
  const client = clientOf(server, { onRequest: (info) => told.push(info) });
  expect(await failure(call(client))).toMatchObject({ status: 404, reason: '', message: '404 page not found' });
  expect(await failure(call(client))).toMatchObject({ status: 404, reason: '' });
  const seen = { verb, kind: 'ConfigMap', code: 404 };
  expect(told).toMatchObject([seen, seen]);
});

test('an answer that is not JSON, and none at all where there should be one', async () => {
  const server = await faultyServer({ onRequest: ({ index, answer }) => answer(200, ['<html>', ''][index]) });
  const client = clientOf(server);
  expect(await failure(read(client))).toMatchObject({ reason: 'garbled' });
  expect(await failure(read(client))).toMatchObject({ reason: 'garbled' });
});

test('a hundred requests with a stale token: one refresh, and none of them fails', async () => {
  let loads = 0;
  const load = () => {
    loads += 1;
    const credential: Credential = { token: loads === 1 ? 'stale' : 'fresh' };
    return Promise.resolve({ credential, until: Number.POSITIVE_INFINITY });
  };
  const server = await faultyServer({
    onRequest: ({ headers, answer }) => answer(headers.authorization === 'Bearer fresh' ? 200 : 401, configMap('a')),
  });
  const credentials = refreshedCredentials(load, { now: () => 0, keepOnFailure: false });
  const client = clientOf(server, { access: server.access(server.port, credentials) });
  await Promise.all(Array.from({ length: 100 }, (_, index) => (index % 2 ? read(client) : write(client))));
  expect(loads).toBe(2);
});

test('credentials that are never accepted: two attempts, then the error', async () => {
  const server = await faultyServer({ onRequest: ({ answer }) => answer(401, 'who?') });
  const client = clientOf(server);
  expect(await failure(read(client))).toMatchObject({ status: 401 });
  expect(server.requests).toBe(2);
  expect(await failure(client.watch(configMaps, { signal: never }).next())).toMatchObject({ status: 401 });
  expect(server.requests).toBe(4);
});

test('a server that never answers: given up after the time limit, and told so', async () => {
  const closed: Promise<unknown>[] = [];
  const server = await faultyServer({ onRequest: ({ stream }) => void closed.push(once(stream, 'close')) });
  const client = clientOf(server, { limits: { requestTimeoutMs: 100 } });
  expect(await failure(read(client))).toMatchObject({ reason: 'timeout', unprocessed: false });
  expect(await failure(client.watch(configMaps, { signal: never }).next())).toMatchObject({ reason: 'timeout' });
  await Promise.all(closed);
});

test('an answer that stops in the middle runs into the time limit too', async () => {
  const server = await faultyServer({
    onRequest: ({ stream }) => {
      stream.respond({ ':status': 200 });
      stream.write('{"half":');
    },
  });
  const client = clientOf(server, { limits: { requestTimeoutMs: 100 } });
  expect(await failure(read(client))).toMatchObject({ reason: 'timeout' });
});

test('requests that wait for their turn have a time limit too', async () => {
  const server = await faultyServer({});
  const client = clientOf(server, { limits: { requestTimeoutMs: 200, streamsPerSession: 1 } });
  const errors = await Promise.all(Array.from({ length: 5 }, () => failure(read(client))));
  expect(errors.map((error) => (error as ConnectionLost).reason)).toEqual(Array(5).fill('timeout'));
});

test('an answer that is broken off in the middle is not taken for a whole one', async () => {
  const server = await faultyServer({
    onRequest: ({ stream, session, index }) => {
      stream.respond({ ':status': 200 });
      stream.write('{"apiVersion":"v1"}', () =>
        index < 2 ? stream.destroy(new Error('x')) : session.socket.destroy(),
      );
    },
  });
  const client = clientOf(server);
  expect(await failure(read(client))).toMatchObject({ reason: 'closed' });
  expect(server.requests).toBe(2);
  expect(await failure(write(client))).toMatchObject({ reason: 'closed' });
});

test('a watch: events, then its end', async () => {
  const server = await faultyServer({ onRequest: ({ answer }) => answer(200, line(1) + line('€')) });
  const watch = clientOf(server).watch(configMaps, { signal: never });
  expect(await watch.next()).toMatchObject({ value: { type: 'ADDED', object: 1 } });
  expect(await watch.next()).toMatchObject({ value: { type: 'ADDED', object: '€' } });
  expect(await watch.next()).toEqual({ done: true, value: undefined });
});

test('a watch that ends in half a line has been cut off', async () => {
  const server = await faultyServer({ onRequest: ({ answer }) => answer(200, `${line(1)}{"type":`) });
  const watch = clientOf(server).watch(configMaps, { signal: never });
  expect(await watch.next()).toMatchObject({ value: { object: 1 } });
  expect(await failure(watch.next())).toMatchObject({ reason: 'closed' });
});

test('a watch that is refused', async () => {
  const status = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' };
  const server = await faultyServer({ onRequest: ({ answer }) => answer(410, status) });
  const watch = clientOf(server).watch(configMaps, { signal: never });
  expect(await failure(watch.next())).toMatchObject({ name: 'ApiError', status: 410, reason: 'Expired' });
});

test('the signal ends a watch at once, without an error, whatever it is doing', async () => {
  const { watches, onRequest } = watchable();
  const server = await faultyServer({ onRequest });
  const client = clientOf(server);
  const stop = new AbortController();
  const waiting = await begunWatch(client, stop.signal);
  const idle = await begunWatch(client, stop.signal);
  const closed = Promise.all(watches.map((stream) => once(stream, 'close')));
  const end = waiting.next();
  stop.abort();
  expect(await end).toEqual({ done: true, value: undefined });
  await closed; // though nobody has asked `idle` for more
  expect(await idle.next()).toEqual({ done: true, value: undefined });
  expect(await client.watch(configMaps, { signal: stop.signal }).next()).toEqual({ done: true, value: undefined });
});

test('leaving the loop ends the watch on the server too', async () => {
  const { watches, onRequest } = watchable();
  const server = await faultyServer({ onRequest });
  for await (const event of clientOf(server).watch(configMaps, { signal: never })) {
    expect(event.object).toBe(1);
    break;
  }
  const [stream] = watches;
  if (stream && !stream.destroyed) await once(stream, 'close');
});

test('the signal ends a request: sent, waiting for its turn, or waiting to be repeated', async () => {
  const reason = new Error('enough');
  const stop = new AbortController();
  const server = await faultyServer({
    onRequest: ({ index, answer }) => (index === 0 ? answer(429, '', { 'retry-after': '20' }) : stop.abort(reason)),
  });
  const client = clientOf(server, { limits: { streamsPerSession: 1 } });
  const calls = Array.from({ length: 3 }, () => failure(read(client, stop.signal)));
  expect(await Promise.all(calls)).toEqual([reason, reason, reason]);
  expect(await failure(read(client, stop.signal))).toBe(reason);
  expect(server.requests).toBe(2);
});

test('who reads slowly holds up the server, but neither other watches nor requests', async () => {
  let sent = 0;
  const total = 64 * 1024 * 1024;
  const big = line('x'.repeat(64 * 1024));
  const server = await faultyServer({
    onRequest: ({ stream, headers, index, answer }) => {
      if (!headers[':path']?.includes('watch=1')) return answer(200, configMap('a'));
      stream.respond({ ':status': 200 });
      const more = () => {
        while (sent < total && !stream.destroyed) {
          sent += big.length;
          if (!stream.write(big)) {
            stream.once('drain', more);
            return;
          }
        }
        stream.end();
      };
      if (index === 0) more();
      else for (let event = 0; event < 1000; event += 1) stream.write(line(event));
      return undefined;
    },
  });
  const client = clientOf(server);
  const slow = await begunWatch(client, never);
  const quick = await begunWatch(client, never);
  for (let event = 1; event < 1000; event += 1) expect(await quick.next()).toMatchObject({ value: { object: event } });
  for (let call = 0; call < 100; call += 1) await read(client);
  expect(sent).toBeLessThan(total / 8);
  let received = big.length;
  for await (const event of slow) received += line(event.object).length;
  expect(received).toBe(sent);
});
