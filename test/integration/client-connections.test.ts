/** The connections of the client, and what becomes of requests and watches when they break. */
import { once } from 'node:events';
import type { ServerHttp2Session } from 'node:http2';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type Credential, fixedCredentials } from '../../src/runtime/client/credentials.ts';
import { ConnectionLost } from '../../src/runtime/client/errors.ts';
import type { ConnectionInfo } from '../../src/runtime/client/options.ts';
import {
  begunWatch,
  cableTo,
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
import { eventually } from '../support/cluster.ts';
import { frame } from '../support/faulty-server.ts';

/** The answers come from this very process, which may have to wait for its turn: seconds, so that this is not silence. */
const QUICK_PINGS = { pingIntervalMs: 50, pingTimeoutMs: 3_000 };
/** The end of a connection, seen by the server. */
function closing(session: ServerHttp2Session | undefined): Promise<void> {
  return new Promise((resolve) => void session?.once('close', resolve));
}

const GOAWAY = 7;
const SETTINGS = 4;

test('a thousand requests share one connection, in turn, never more at once than it carries', async () => {
  let now = 0;
  let most = 0;
  const order: (string | undefined)[] = [];
  const server = await faultyServer({
    onRequest: ({ stream, headers, answer }) => {
      now += 1;
      most = Math.max(most, now);
      order.push(headers[':path']?.split('/').at(-1));
      stream.once('close', () => (now -= 1));
      setImmediate(() => answer(200, configMap('a')));
    },
  });
  const client = clientOf(server);
  const names = Array.from({ length: 1000 }, (_, index) => `n${index}`);
  await Promise.all(names.map((name) => client.get(configMaps, name, 'default')));
  expect(server.connections).toBe(1);
  expect(most).toBeLessThanOrEqual(80);
  expect(order).toEqual(names);
});

test('a server that allows fewer streams is asked for no more', async () => {
  let now = 0;
  let most = 0;
  const server = await faultyServer({
    maxStreams: 3,
    onRequest: ({ stream, answer }) => {
      now += 1;
      most = Math.max(most, now);
      stream.once('close', () => (now -= 1));
      setImmediate(() => answer(200, configMap('a')));
    },
  });
  const client = clientOf(server);
  await read(client); // from here on its settings are known
  await Promise.all(Array.from({ length: 50 }, () => read(client)));
  expect(most).toBeLessThanOrEqual(3);
});

test('200 watches take three connections, requests one of their own; idle ones are let go', async ({ signal }) => {
  const { watches, onRequest } = watchable();
  const server = await faultyServer({ onRequest });
  const told: ConnectionInfo[] = [];
  const client = clientOf(server, { onConnection: (info) => told.push(info) });
  const open = (purpose: string) => {
    const states = told.filter((info) => info.purpose === purpose).map(({ state }) => state);
    return states.filter((state) => state === 'open').length * 2 - states.length;
  };
  const stop = new AbortController();
  const begun = await Promise.all(Array.from({ length: 200 }, () => begunWatch(client, stop.signal)));
  await Promise.all(Array.from({ length: 20 }, () => read(client)));
  expect([open('watches'), open('requests')]).toEqual([3, 1]);
  expect(watches).toHaveLength(200);

  stop.abort();
  for (const watch of begun) expect(await watch.next()).toEqual({ done: true, value: undefined });
  const left = () => Promise.resolve([open('watches'), watches.filter((stream) => !stream.destroyed).length]);
  await eventually('one connection, no stream', left, ([one, none]) => one === 1 && none === 0, signal);
});

test('GOAWAY: open streams go on, new ones go elsewhere, the old connection is closed', async ({ signal }) => {
  const { watches, onRequest } = watchable();
  const server = await faultyServer({ onRequest });
  const client = clientOf(server);
  const old = await begunWatch(client, signal);
  server.sessions[0]?.goaway(0);
  watches[0]?.write(line('after the GOAWAY'));
  expect(await old.next()).toMatchObject({ value: { object: 'after the GOAWAY' } });

  await begunWatch(client, signal);
  expect(server.connections).toBe(2);
  const isClosed = closing(server.sessions[0]);
  watches[0]?.end(line('the last'));
  expect(await old.next()).toMatchObject({ value: { object: 'the last' } });
  expect(await old.next()).toMatchObject({ done: true });
  await isClosed;
});

test('GOAWAY that leaves a request out: even a write is sent again, elsewhere', async () => {
  const server = await faultyServer({
    onConnection: (socket, index) => {
      if (index > 0) return false;
      socket.write(frame(SETTINGS, 0, Buffer.alloc(0)));
      let seen = Buffer.alloc(0);
      const reply = (chunk: Buffer) => {
        seen = Buffer.concat([seen, chunk]);
        if (!seen.includes('/configmaps') && seen.length < 200) return; // before the request has come
        socket.off('data', reply);
        socket.end(frame(GOAWAY, 0, Buffer.alloc(8))); // last stream 0, no error
      };
      socket.on('data', reply);
      return true;
    },
    onRequest: ({ answer }) => answer(201, configMap('a')),
  });
  expect(await write(clientOf(server))).toMatchObject({ metadata: { name: 'a' } });
  expect([server.connections, server.requests]).toEqual([2, 1]);
});

test('GOAWAY with an error breaks off what is open', async ({ signal }) => {
  const { onRequest } = watchable();
  const server = await faultyServer({ onRequest });
  const watch = await begunWatch(clientOf(server), signal);
  server.sessions[0]?.goaway(2);
  expect(await failure(watch.next())).toMatchObject({ name: 'ConnectionLost', reason: 'closed' });
});

test('a refused stream: even a write is sent again', async () => {
  const REFUSED_STREAM = 7;
  const server = await faultyServer({
    onRequest: ({ stream, index, answer }) => (index < 2 ? stream.close(REFUSED_STREAM) : answer(201, configMap('a'))),
  });
  await write(clientOf(server));
  expect(server.requests).toBe(3);
});

test('a server that refuses everything is told so in the end', async () => {
  const server = await faultyServer({ onRequest: ({ stream }) => stream.close(7) });
  expect(await failure(write(clientOf(server)))).toMatchObject({ reason: 'refused', unprocessed: true });
  expect(server.requests).toBe(4);
});

test.for([
  { what: 'a read that is cut off once', call: read, cuts: 1, ends: 'well', requests: 2 },
  { what: 'a read that is cut off twice', call: read, cuts: 2, ends: 'closed', requests: 2 },
  { what: 'a write that is cut off', call: write, cuts: 1, ends: 'closed', requests: 1 },
] as const)('$what ends $ends after $requests requests', async ({ call, cuts, ends, requests }) => {
  const server = await faultyServer({
    onRequest: ({ session, index, answer }) => (index < cuts ? session.socket.destroy() : answer(200, configMap('a'))),
  });
  const ended = await call(clientOf(server)).then(
    () => 'well',
    (error: unknown) => (error instanceof ConnectionLost ? error.reason : error),
  );
  expect(ended).toBe(ends);
  expect(server.requests).toBe(requests);
});

test('a peer that falls silent is noticed by watches, and by requests that wait', async ({ signal }) => {
  const { onRequest } = watchable();
  const server = await faultyServer({ onRequest });
  const cable = await cableTo(server);
  const client = clientOf(server, { access: server.access(cable.port), limits: QUICK_PINGS });
  const watch = await begunWatch(client, signal);
  await write(client);
  cable.freeze();
  const lost = await Promise.all([failure(watch.next()), failure(write(client))]);
  expect(lost).toMatchObject([{ name: 'ConnectionLost', reason: 'silent' }, { reason: 'silent' }]);

  cable.thaw();
  await begunWatch(client, signal);
  await write(client);
});

test('a peer that falls silent after GOAWAY is noticed too', async ({ signal }) => {
  const { watches, onRequest } = watchable();
  const server = await faultyServer({ onRequest });
  const cable = await cableTo(server);
  const client = clientOf(server, { access: server.access(cable.port), limits: QUICK_PINGS });
  const watch = await begunWatch(client, signal);
  server.sessions[0]?.goaway(0);
  watches[0]?.write(line(2));
  await watch.next();
  cable.freeze();
  expect(await failure(watch.next())).toMatchObject({ reason: 'silent' });
});

test('a connection that has run out is let go, though its peer does not take leave', async ({ signal }) => {
  const { watches, onRequest } = watchable();
  const server = await faultyServer({ onRequest });
  const cable = await cableTo(server);
  const closed = Promise.withResolvers<void>();
  const client = clientOf(server, {
    access: server.access(cable.port),
    limits: QUICK_PINGS,
    onConnection: ({ state }) => state === 'closed' && closed.resolve(),
  });
  const stop = new AbortController();
  const watch = await begunWatch(client, stop.signal);
  server.sessions[0]?.goaway(0);
  watches[0]?.write(line(2));
  await watch.next();
  cable.freeze();
  stop.abort();
  expect(await watch.next()).toMatchObject({ done: true });
  await closed.promise;
  signal.throwIfAborted();
});

test.for([
  { what: 'an idle connection', isSentAway: false, sign: 'ping' },
  { what: 'one that takes no more streams', isSentAway: true, sign: 'remoteSettings' },
])('$what is kept while it answers', async ({ isSentAway, sign }, { signal }) => {
  const { watches, onRequest } = watchable();
  const server = await faultyServer({ onRequest });
  const client = clientOf(server, { limits: { pingIntervalMs: 10, pingTimeoutMs: 60_000 } });
  const watch = await begunWatch(client, signal);
  const [session] = server.sessions;
  if (isSentAway) session?.goaway(0);
  let signs = 0;
  await new Promise<void>((resolve) => {
    session?.on(sign, () => (signs += 1) === 5 && resolve());
  });
  watches[0]?.write(line(2));
  expect(await watch.next()).toMatchObject({ value: { object: 2 } });
  expect(server.connections).toBe(1);
});

test('a cut cable ends watches at once, and the next request connects anew', async ({ signal }) => {
  const { onRequest } = watchable();
  const server = await faultyServer({ onRequest });
  const cable = await cableTo(server);
  const client = clientOf(server, { access: server.access(cable.port) });
  const watches = await Promise.all(Array.from({ length: 10 }, () => begunWatch(client, signal)));
  await read(client);
  cable.cut();
  for (const watch of watches) expect(await failure(watch.next())).toMatchObject({ reason: 'closed' });
  await read(client);
  await begunWatch(client, signal);
  expect(server.connections).toBe(4);
});

test('a server that hangs up on everyone is tried again at growing intervals only', async () => {
  const server = await faultyServer({
    onConnection: (socket) => {
      socket.end();
      return true;
    },
  });
  const client = clientOf(server, { random: () => 0 });
  const begin = performance.now();
  for (let call = 0; call < 6; call += 1) expect(await failure(write(client))).toBeInstanceOf(ConnectionLost);
  // 50 + 100 + 200 + 400 + 800 ms: a loop without pauses would take a fraction of it.
  expect(performance.now() - begin).toBeGreaterThan(1_500);
  expect(server.connections).toBeLessThanOrEqual(7);
});

test.for([
  { what: 'an HTTP/1.1 server', protocols: ['http/1.1'], says: 'HTTP/2 is needed' },
  { what: 'a server of something else', protocols: ['spdy'], says: 'no connection to https://127.0.0.1' },
])('$what is told apart: $says', async ({ protocols, says }) => {
  const server = await faultyServer({ protocols, onConnection: () => true });
  const error = await failure(read(clientOf(server)));
  expect(error).toMatchObject({ name: 'ConnectionLost', reason: 'unreachable' });
  expect(String(error)).toContain(says);
});

test('a certificate of an unknown authority is not accepted, unless all are', async () => {
  const server = await faultyServer({ onRequest: ({ answer }) => answer(200, configMap('a')) });
  const access = { ...server.access(), authority: () => Promise.resolve(undefined) };
  const error = await failure(read(clientOf(server, { access })));
  expect(error).toMatchObject({ reason: 'unreachable', cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' } });
  expect(server.requests).toBe(0);
  await read(clientOf(server, { access: { ...access, insecure: true } }));
});

test('a name that the certificate does not have is not accepted', async () => {
  const server = await faultyServer({ onRequest: ({ answer }) => answer(200, configMap('a')) });
  const access = { ...server.access(), serverName: 'elsewhere' };
  expect(await failure(read(clientOf(server, { access })))).toMatchObject({
    reason: 'unreachable',
    cause: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' },
  });
});

test('certificates that cannot be read are a mistake in the configuration', async () => {
  const server = await faultyServer({});
  const access = server.access(server.port, fixedCredentials({ certificate: 'rubbish', key: 'rubbish' }));
  expect(await failure(read(clientOf(server, { access })))).toMatchObject({ name: 'ConfigurationError' });
});

test('a port without a server, and one that never answers', async () => {
  const server = await faultyServer({});
  const mute = createServer(() => undefined).listen(0, '127.0.0.1');
  onTestFinished(() => void mute.close());
  await once(mute, 'listening');
  const { port } = mute.address() as AddressInfo;
  const limits = { connectTimeoutMs: 100 };
  const never = clientOf(server, { access: server.access(port), limits });
  expect(await failure(read(never))).toMatchObject({ reason: 'unreachable' });
  const nowhere = clientOf(server, { access: server.access(1), limits: {} });
  expect(await failure(read(nowhere))).toMatchObject({ reason: 'unreachable', cause: { code: 'ECONNREFUSED' } });
});

test('a new certificate makes a new connection, and lets the old one run out', async ({ signal }) => {
  const { watches, onRequest } = watchable();
  const server = await faultyServer({ onRequest });
  const certificates: Credential[] = [];
  const current = () => Promise.resolve(certificates[0] ?? {});
  const access = server.access(server.port, { current, reject: () => undefined });
  const client = clientOf(server, { access });
  const old = await begunWatch(client, signal);
  certificates.push(await server.pair());
  await begunWatch(client, signal);
  await begunWatch(client, signal);
  expect(server.connections).toBe(2);
  expect(server.hasClientCertificate).toEqual([false, true]);
  watches[0]?.end(line(2));
  expect(await old.next()).toMatchObject({ value: { object: 2 } });
  expect(await old.next()).toMatchObject({ done: true });
});

test('closed, it lets go of everything', async ({ signal }) => {
  const { onRequest } = watchable();
  const asked = Promise.withResolvers<void>();
  const server = await faultyServer({
    onRequest: (request) => (request.headers[':method'] === 'GET' ? onRequest(request) : asked.resolve()),
  });
  const client = clientOf(server);
  const watch = await begunWatch(client, signal);
  await read(client);
  const [ended, unanswered] = [failure(watch.next()), failure(write(client))];
  await asked.promise;
  const gone = Promise.all(server.sessions.map(closing));
  await client.close();
  expect(await ended).toMatchObject({ reason: 'closed' });
  expect(await unanswered).toMatchObject({ reason: 'closed' });
  await gone;
  expect(await failure(read(client))).toBeInstanceOf(ConnectionLost);
});
