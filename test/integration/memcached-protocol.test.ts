/** Our side of the memcached protocol against the real one, in every way that it can be started; and against impostors. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import {
  type Authentication,
  during,
  get,
  isAnswering,
  type Limits,
  MemcachedError,
  mechanismsOf,
  meet,
  type Server,
  set,
} from '../../src/memcached/index.ts';
import { type CertifiedKey, createCertificate } from '../../src/runtime/certificates/certificate.ts';
import { memcachedRoot, startMemcached } from '../support/memcached-binary.ts';
import { freePort } from '../support/operator.ts';

const HOST = '127.0.0.1';
const USER = 'keystone';
const PASSWORD = 'dont-tell-anyone';

const life = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 3_600_000) };
const authority = createCertificate({ ...life, subject: 'test authority', isAuthority: true });
const stranger = createCertificate({ ...life, subject: 'another authority', isAuthority: true });
const pair = certified(authority);

/** A certificate for servers and clients alike, unlike those that we make for ourselves. */
function certified(issuer: CertifiedKey): CertifiedKey {
  const directory = mkdtempSync(path.join(tmpdir(), 'certified-'));
  const file = (name: string) => path.join(directory, name);
  writeFileSync(file('ca.crt'), issuer.certificate);
  writeFileSync(file('ca.key'), issuer.key);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', file('key')];
  const signed = ['-x509', '-days', '1', '-CA', file('ca.crt'), '-CAkey', file('ca.key'), '-out', file('crt')];
  execFileSync('openssl', ['req', ...key, ...signed, '-subj', '/CN=memcached'], { stdio: 'pipe' });
  const made = { certificate: readFileSync(file('crt'), 'utf8'), key: readFileSync(file('key'), 'utf8') };
  rmSync(directory, { recursive: true });
  return made;
}

let root: string;

beforeAll(async () => {
  root = await memcachedRoot(new AbortController().signal);
  const directory = path.join(root, 'secret');
  mkdirSync(directory);
  const files = {
    'tls.crt': pair.certificate,
    'tls.key': pair.key,
    'ca.crt': authority.certificate,
    'memcached.conf': 'mech_list: plain\n',
    'sasl-db': `${USER}@${hostname()}:${PASSWORD}\n`,
    'password-file': `${USER}:${PASSWORD}\n`,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(directory, name), text);
});

const TLS = ['-Z', '-o', 'ssl_chain_cert=/secret/tls.crt,ssl_key=/secret/tls.key'];
const MTLS = [...TLS, '-o', 'ssl_ca_cert=/secret/ca.crt,ssl_verify_mode=2'];
const SASL = { MEMCACHED_SASL_PWDB: '/secret/sasl-db', SASL_CONF_PATH: '/secret' };

const trusting = createSecureContext({ ca: authority.certificate });
const known = createSecureContext({ ca: authority.certificate, cert: pair.certificate, key: pair.key });

interface Mode {
  readonly mode: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly reach?: Pick<Server, 'tls'>;
  readonly form?: Authentication['form'];
}

const modes: readonly Mode[] = [
  { mode: 'plain', args: [] },
  { mode: 'TLS', args: TLS, reach: { tls: trusting } },
  { mode: 'mTLS', args: MTLS, reach: { tls: known } },
  { mode: 'SASL', args: ['-S'], env: SASL, form: 'sasl' },
  { mode: 'TLS and SASL', args: ['-S', ...TLS], env: SASL, reach: { tls: trusting }, form: 'sasl' },
  { mode: 'mTLS and SASL', args: ['-S', ...MTLS], env: SASL, reach: { tls: known }, form: 'sasl' },
  { mode: '-Y', args: ['-Y', '/secret/password-file'], form: 'password-file' },
  {
    mode: 'TLS and -Y',
    args: ['-Y', '/secret/password-file', ...TLS],
    reach: { tls: trusting },
    form: 'password-file',
  },
];

async function started({ args, env, reach, form }: Mode): Promise<Server> {
  const port = await freePort();
  const memcached = await startMemcached(root, port, ['-l', HOST, '-p', String(port), ...args], env);
  onTestFinished(() => memcached.stop());
  const authentication = form && { form, user: USER, password: PASSWORD };
  return { host: HOST, port, ...reach, ...(authentication && { authentication }) };
}

test.for(modes)('$mode: figures, again and again on one connection', async (mode) => {
  const server = await started(mode);
  const acquaintance = await meet(server);
  onTestFinished(() => acquaintance.close());
  const first = await acquaintance.figures();
  expect(first.version).toMatch(/^1\.6\.\d+$/);
  expect(first).toMatchObject({ hits: 0, misses: 0, items: 0, evictions: 0, limitBytes: 64 * 1024 * 1024 });
  expect(first.connections).toBeGreaterThan(0);
  for (let round = 0; round < 20; round += 1) expect((await acquaintance.figures()).version).toBe(first.version);
  expect(acquaintance.isOpen).toBe(true);
});

test.for(modes.filter(({ form }) => form !== undefined))('$mode: a wrong password is refused', async (mode) => {
  const server = await started(mode);
  const authentication = { form: mode.form ?? 'sasl', user: USER, password: 'wrong' };
  const error = await failure(meet({ ...server, authentication }));
  expect([error.reason, error.message]).toEqual(['refused', 'the server refused the password']);
  const { authentication: _, ...unknown } = server;
  expect(await failure(meet(unknown).then((one) => one.figures()))).toBeInstanceOf(MemcachedError);
});

test.for(modes.filter(({ form }) => form === 'sasl'))('$mode: PLAIN alone is offered', async (mode) => {
  expect(await mechanismsOf(await started(mode))).toEqual(['PLAIN']);
});

test('SASL without its configuration: the hole is seen', async () => {
  const server = await started({ mode: 'SASL', args: ['-S'], form: 'sasl', env: { ...SASL, SASL_CONF_PATH: '/none' } });
  expect(await mechanismsOf(server)).toContain('ANONYMOUS');
});

test.for(modes.filter(({ mode }) => mode.startsWith('mTLS')))('$mode: strangers get no answer', async (mode) => {
  const { host, port, tls } = await started(mode);
  const form = mode.form && { form: mode.form };
  expect(await isAnswering({ host, port, ...form, ...(tls && { tls }) })).toBe(true);
  expect(await isAnswering({ host, port, ...form, tls: trusting })).toBe(false);
});

test('a server whose certificate another authority signed is told nothing', async () => {
  const { host, port } = await started({ mode: 'TLS', args: TLS });
  const tls = createSecureContext({ ca: stranger.certificate });
  expect(await failure(meet({ host, port, tls }))).toMatchObject({ reason: 'unreachable' });
});

test('a certificate may be trusted for itself', async () => {
  const { host, port } = await started({ mode: 'TLS', args: TLS });
  const tls = createSecureContext({ ca: pair.certificate, allowPartialTrustChain: true });
  const acquaintance = await meet({ host, port, tls });
  onTestFinished(() => acquaintance.close());
  expect((await acquaintance.figures()).items).toBe(0);
});

test('set and get; hits and misses are counted', async () => {
  const server = await started({ mode: 'plain', args: [] });
  await during(server, undefined, async (connection) => {
    await set(connection, 'greeting', 'grüß dich');
    expect(await get(connection, 'greeting')).toBe('grüß dich');
    expect(await get(connection, 'nothing')).toBeUndefined();
  });
  const acquaintance = await meet(server);
  onTestFinished(() => acquaintance.close());
  expect(await acquaintance.figures()).toMatchObject({ hits: 1, misses: 1, items: 1 });
});

const limits: Limits = { connectMs: 2000, answerMs: 1000, bytes: 64 * 1024 };

const sane = [
  'version 1.6.45',
  'curr_connections 3',
  'get_hits 1',
  'get_misses 1',
  'curr_items 1',
  'bytes 10',
  'limit_maxbytes 64',
  'evictions 0',
  'uptime 9',
];

/** An answer to `stats`, with one figure changed. */
function stats(name = '', value = ''): string {
  const figures = sane.map((figure) => (figure.startsWith(`${name} `) ? `${name} ${value}` : figure));
  return `${figures.map((figure) => `STAT ${figure}\r\n`).join('')}END\r\n`;
}

const impostors: readonly {
  readonly what: string;
  readonly reason: MemcachedError['reason'];
  readonly answer: (socket: Socket) => unknown;
}[] = [
  { what: 'never answers', reason: 'timeout', answer: () => {} },
  { what: 'a byte at a time', reason: 'timeout', answer: (socket) => drip(socket, stats()) },
  { what: 'endless figures', reason: 'too-much', answer: (socket) => flood(socket, 'STAT bytes 1\r\n'.repeat(1000)) },
  { what: 'an endless line', reason: 'too-much', answer: (socket) => flood(socket, 'x'.repeat(1000)) },
  { what: 'hangs up midway', reason: 'closed', answer: (socket) => socket.end('STAT bytes 1\r\nSTA') },
  { what: 'breaks off', reason: 'closed', answer: (socket) => socket.resetAndDestroy() },
  { what: 'an HTTP server', reason: 'nonsense', answer: (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n') },
  { what: 'TLS', reason: 'timeout', answer: (socket) => socket.write(Buffer.from([0x15, 3, 1, 0, 2, 2, 40])) },
  { what: 'a refusal', reason: 'refused', answer: (socket) => socket.write('CLIENT_ERROR unauthenticated\r\n') },
  { what: 'more than was asked for', reason: 'nonsense', answer: (socket) => socket.write(`${stats()}STAT a b\r\n`) },
  { what: 'no figures', reason: 'nonsense', answer: (socket) => socket.write('END\r\n') },
  ...['-1', 'NaN', '1e9', '0x10', '1.5', '', '9'.repeat(30)].map((value) => ({
    what: `${value || 'nothing'} hits`,
    reason: 'nonsense' as const,
    answer: (socket: Socket) => socket.write(stats('get_hits', value)),
  })),
  {
    what: 'a version of 1 kB',
    reason: 'nonsense',
    answer: (socket) => socket.write(stats('version', '1'.repeat(1000))),
  },
];

test.for([1, 7, 100])('an answer that comes in pieces of %d bytes is understood', async (length) => {
  const server = await impostor(async (socket) => {
    socket.setNoDelay(true);
    for (const piece of stats().match(new RegExp(`[^]{1,${length}}`, 'g')) ?? []) {
      socket.write(piece);
      await turn();
    }
  });
  const acquaintance = await meet(server);
  onTestFinished(() => acquaintance.close());
  expect(await acquaintance.figures()).toMatchObject({ version: '1.6.45', hits: 1, uptimeSeconds: 9 });
});

test.for(impostors)('an impostor: $what', async ({ reason, answer }) => {
  const server = await impostor(answer);
  const acquaintance = await meet(server, limits);
  const before = process.memoryUsage.rss();
  const begin = performance.now();
  expect(await failure(acquaintance.figures())).toMatchObject({ reason });
  const [ms, megabytes] = [performance.now() - begin, (process.memoryUsage.rss() - before) / 1e6];
  console.log(`${reason} after ${Math.round(ms)} ms, ${megabytes.toFixed(1)} MB`);
});

test.for([
  ['garbage', Buffer.from('x'.repeat(200))],
  ['a packet of 4 GB', packet(0x20, 0xffff_ffff)],
  ['a key longer than its packet', packet(0x20, 4, 0xffff)],
  ['an answer to another question', packet(0x10, 0)],
] as const)('a binary impostor: %s', async ([, bytes]) => {
  const server = await impostor((socket) => socket.write(bytes));
  const error = await failure(mechanismsOf(server, limits));
  expect(['nonsense', 'too-much']).toContain(error.reason);
});

test('an impostor that speaks unasked is not taken at its word later', async () => {
  const server = await impostor((socket) => {
    socket.write(stats());
    setTimeout(() => socket.write(stats('get_hits', '1000')), 50);
  });
  const acquaintance = await meet(server, limits);
  expect(await acquaintance.figures()).toMatchObject({ hits: 1 });
  await expect.poll(() => acquaintance.isOpen).toBe(false);
  expect(await failure(acquaintance.figures())).toBeInstanceOf(MemcachedError);
});

test('nobody there, and nobody who shakes hands', async () => {
  const port = await freePort();
  expect(await failure(meet({ host: HOST, port }))).toMatchObject({ reason: 'unreachable' });
  const server = await impostor(() => {});
  expect(await failure(meet({ ...server, tls: trusting }, { ...limits, connectMs: 300 }))).toMatchObject({
    reason: 'timeout',
  });
});

async function impostor(answer: (socket: Socket) => unknown): Promise<Server> {
  const listener = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => answer(socket));
    onTestFinished(() => void socket.destroy());
  }).listen(0, HOST);
  await once(listener, 'listening');
  onTestFinished(() => void listener.close());
  return { host: HOST, port: (listener.address() as AddressInfo).port };
}

function drip(socket: Socket, text: string): void {
  let sent = 0;
  const timer = setInterval(() => {
    if (socket.destroyed || sent >= text.length) clearInterval(timer);
    else socket.write(text.charAt(sent++));
  }, 100);
}

function flood(socket: Socket, text: string): void {
  const more = () => {
    while (!socket.destroyed && socket.write(text));
  };
  socket.on('drain', more);
  more();
}

/** The header of an answer in the binary protocol. */
function packet(operation: number, length: number, keyLength = 0): Buffer {
  const header = Buffer.alloc(24);
  header[0] = 0x81;
  header[1] = operation;
  header.writeUInt16BE(keyLength, 2);
  header.writeUInt32BE(length, 8);
  return header;
}

async function failure(promise: Promise<unknown>): Promise<MemcachedError> {
  const error = await promise.then(
    () => new Error('it succeeded'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(MemcachedError);
  expect(String(error)).not.toContain(PASSWORD);
  return error as MemcachedError;
}
