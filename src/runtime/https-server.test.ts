/** The HTTPS server against callers that behave, and callers that do not. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { connect as connectPlainly, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { type CertifiedKey, createCertificate } from './certificates/certificate.ts';
import { HttpsServer, type HttpsServerOptions } from './https-server.ts';
import type { Log } from './log.ts';
import { ManualClock } from './manual-clock.ts';

const DAY = 86_400_000;
const now = Date.now();
const newPair = (days = 1) =>
  createCertificate({
    subject: 'test',
    dnsNames: ['localhost'],
    notBefore: new Date(now - DAY),
    notAfter: new Date(now + days * DAY),
  });
const pair = newPair();

/** More than the buffers of both sides hold. */
const ENDLESS = Buffer.alloc(64 * 1024 * 1024);

async function start(options: Partial<HttpsServerOptions> = {}) {
  const logged: string[] = [];
  const say = (message: string, fields = {}) => void logged.push(`${message} ${JSON.stringify(fields)}`);
  const log: Log = { debug: say, info: say, error: say };
  const server = await HttpsServer.start({
    host: '127.0.0.1',
    port: 0,
    certificate: async () => pair,
    async handle({ url = '' }, response) {
      if (url === '/broken') throw new Error('broken');
      response.end(`you asked for ${url}`);
    },
    log,
    limits: { requestMs: 300, answerMs: 600 },
    ...options,
  });
  onTestFinished(() => server.close());
  return { server, logged };
}

async function ask({ port }: HttpsServer, path: string, headers = {}, { certificate: ca } = pair): Promise<string> {
  const call = request({ port, host: '127.0.0.1', servername: 'localhost', path, headers, ca, agent: false }).end();
  const [answer] = (await once(call, 'response')) as [IncomingMessage];
  return `${answer.statusCode} ${await text(answer)}`.trim();
}

async function open({ port }: HttpsServer, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', ca: pair.certificate, servername: 'localhost', ...options });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

/** What the server still says before it closes the connection. */
async function lastWords(socket: Socket): Promise<string> {
  let words = '';
  socket.on('data', (chunk) => (words += String(chunk)));
  socket.on('error', () => undefined); // a reset is a way to close it, too
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  return words;
}

test('answers, and what fails does not break it', async () => {
  const { server, logged } = await start();
  expect(await ask(server, '/a')).toBe('200 you asked for /a');
  expect(await ask(server, '/broken')).toBe('500 internal error, see the log of the operator');
  expect(logged).toHaveLength(1);
  expect(await ask(server, '/b')).toBe('200 you asked for /b');
});

test('speaks TLS 1.2 and 1.3, nothing older, and no cipher without forward secrecy', async () => {
  const { server } = await start();
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const socket = await open(server, { minVersion: version, maxVersion: version });
    expect(socket.getProtocol()).toBe(version);
  }
  await expect(open(server, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1' })).rejects.toThrow('protocol');
  const weak = { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA256' } as const;
  await expect(open(server, weak)).rejects.toThrow('handshake');
});

test('a caller that says nothing is cut off, before the handshake and after it', async () => {
  const { server } = await start();
  expect(await lastWords(connectPlainly(server.port, '127.0.0.1'))).toBe('');
  expect(await lastWords(await open(server))).toMatch(/^HTTP\/1.1 408 /);
});

test('a caller that takes forever to ask is cut off', async () => {
  const { server } = await start();
  const socket = await open(server);
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n');
  const drip = setInterval(() => socket.write('x: y\r\n'), 50);
  onTestFinished(() => clearInterval(drip));
  expect(await lastWords(socket)).toMatch(/^HTTP\/1.1 408 /);
});

test('a caller that does not read the answer is cut off', async () => {
  const closed = Promise.withResolvers<boolean>();
  const { server } = await start({
    async handle(_, response) {
      response.once('close', () => closed.resolve(response.writableFinished));
      response.end(ENDLESS);
    },
  });
  const socket = await open(server);
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  expect(await closed.promise).toBe(false);
  socket.resume();
  expect((await lastWords(socket)).length).toBeLessThan(ENDLESS.length);
});

test('headers beyond the limit are refused', async () => {
  const { server } = await start();
  expect(await ask(server, '/', { authorization: 'x'.repeat(12_000) })).toContain('200');
  expect(await ask(server, '/', { authorization: 'x'.repeat(20_000) })).toContain('431');
});

test('what is not TLS is sent away, and nothing else suffers', async () => {
  const { server, logged } = await start();
  const socket = connectPlainly(server.port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await lastWords(socket);
  expect(await ask(server, '/a')).toContain('200');
  expect(logged).toEqual([]);
});

test('connections beyond the limit are closed, and those before it go on', async () => {
  const { server } = await start({ limits: { connections: 2, requestMs: 60_000 } });
  const [first, second] = [await open(server), await open(server)];
  await expect(ask(server, '/')).rejects.toThrow(/ECONNRESET|hang up|disconnected/);
  first.destroy();
  second.write('GET /second HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  expect(await lastWords(second)).toContain('you asked for /second');
});

test('a renewed certificate takes effect, and one that cannot be used does not', async () => {
  const clock = new ManualClock();
  let given: () => CertifiedKey = () => pair;
  const { server, logged } = await start({ clock, certificate: async () => given() });
  const look = async () => {
    clock.advance(10_000);
    while (clock.timers === 0) await new Promise(setImmediate); // it looks, then waits again
  };
  const days = () => Math.round((server.validUntil - now) / DAY);
  expect(days()).toBe(1);
  const next = newPair(2);
  given = () => next;
  await look();
  expect(days()).toBe(2);
  expect(await ask(server, '/', {}, next)).toContain('200');
  await expect(ask(server, '/')).rejects.toThrow('self-signed certificate');

  given = () => ({ ...pair, key: next.key });
  await look();
  await look();
  given = () => {
    throw new Error('gone');
  };
  await look();
  expect(await ask(server, '/', {}, next)).toContain('200');
  expect(logged.map((line) => line.replace(/ {.*/, ''))).toEqual([
    'certificate renewed',
    'certificate cannot be renewed',
    'certificate cannot be renewed',
  ]);
});

test('closing breaks off what goes on, and leaves no timer', async () => {
  const clock = new ManualClock();
  const { server } = await start({ clock, handle: () => new Promise(() => {}) });
  const [asking, silent] = [ask(server, '/'), lastWords(connectPlainly(server.port, '127.0.0.1'))];
  while (clock.timers < 2) await new Promise(setImmediate);
  await server.close();
  await expect(asking).rejects.toThrow(/ECONNRESET|hang up/);
  await silent;
  expect(clock.timers).toBe(0);
});

test('does not start with a port in use, or without a certificate', async () => {
  const { server } = await start();
  await expect(start({ port: server.port })).rejects.toThrow('EADDRINUSE');
  await expect(start({ certificate: () => Promise.reject(new Error('no file')) })).rejects.toThrow('no file');
});

const QUESTION = 'GET /a HTTP/1.1\r\nhost: localhost\r\n\r\n';

test('asked to drain, it goes on answering, and ends each connection with an answer', async () => {
  const { server } = await start();
  const [used, idle] = [await open(server), await open(server)];
  let isDrained = false;
  const drained = server.drain(60_000).then(() => (isDrained = true));
  used.write(QUESTION);
  expect(await lastWords(used)).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*Connection: close\r\n[^]*you asked for \/a$/);
  expect(await ask(server, '/late')).toBe('200 you asked for /late');
  expect(isDrained).toBe(false);
  idle.write(QUESTION);
  expect(await lastWords(idle)).toContain('you asked for /a');
  await drained;
});

test('draining ends in time, whoever stays; with nobody there, at once', async () => {
  const clock = new ManualClock();
  const { server } = await start({ clock });
  await server.drain(5000);
  const socket = await open(server);
  const drained = server.drain(5000);
  clock.advance(5000);
  await drained;
  expect(socket.closed).toBe(false); // that is for close() to do
});

test('a new certificate is served as soon as somebody knows of it', async () => {
  let served = pair;
  const { server } = await start({ certificate: async () => served });
  served = newPair();
  await expect(ask(server, '/a', {}, served)).rejects.toThrow('certificate');
  await server.renew();
  expect(await ask(server, '/a', {}, served)).toBe('200 you asked for /a');
});
