/** The webhooks against callers who mean no good: every request gets an answer, the process lives, and its memory stays what it was. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mutation, validation } from '../../src/webhooks/configurations.ts';
import { ROOT } from '../support/cluster.ts';
import { hostileReview, type Random, randomFrom } from '../support/hostile-reviews.ts';
import { Pipeline, type RawAnswer } from '../support/pipeline.ts';
import type { Figures, Started } from '../support/webhook-process.ts';

const REQUESTS = 100_000;
const LANES = 4;
const AT_ONCE = 50;
const MEGABYTE = 1024 * 1024;
const MOST_GROWTH = 10 * MEGABYTE;

let child: ChildProcess;
let started: Started;

beforeAll(async () => {
  child = fork(path.join(ROOT, 'test/support/webhook-process.ts'), { execArgv: ['--expose-gc'] });
  [started] = (await once(child, 'message')) as [Started];
});

afterAll(async () => {
  const ended = once(child, 'exit');
  child.disconnect();
  await ended;
});

const open = () => Pipeline.open(started.port, started.authority);

async function figures(): Promise<Figures> {
  child.send('figures');
  const [said] = (await once(child, 'message')) as [Figures];
  return said;
}

/** Once no more than so much is in use: connections that end, and what they have received, take a moment to go. */
async function figuresBelow(limit: number): Promise<Figures> {
  let said = await figures();
  for (let tries = 0; tries < 300 && said.used >= limit; tries += 1) {
    await sleep(100);
    said = await figures();
  }
  return said;
}

function post(url: string, body: string, headers = 'content-type: application/json\r\n'): string {
  return `POST ${url} HTTP/1.1\r\nhost: a\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** What the answer comes to, in a word. */
function outcome({ status, headers, body }: RawAnswer): string {
  if (status !== 200) return `${status}`;
  const { apiVersion, kind, response } = JSON.parse(body) as {
    apiVersion: string;
    kind: string;
    response: { uid: string; allowed: boolean; status?: { code: number } };
  };
  const isReview = `${headers.get('content-type')} ${apiVersion} ${kind}` === REVIEW;
  if (!isReview || typeof response.uid !== 'string' || response.uid === '') return `no review: ${body}`;
  return response.allowed ? '200 allowed' : `200 denied with ${response.status?.code}`;
}

const REVIEW = 'application/json admission.k8s.io/v1 AdmissionReview';

/** Sends so many hostile requests over one connection, and counts what they come to. */
async function attack(count: number, random: Random, outcomes: Map<string, number>): Promise<void> {
  const connection = await open();
  for (let done = 0; done < count; done += AT_ONCE) {
    const batch = Array.from({ length: AT_ONCE }, () => {
      const url = random() < 0.5 ? mutation.path : validation.path;
      return random() < 0.02 ? misdirected(random, url) : post(url, hostileReview(random));
    });
    connection.send(batch.join(''));
    for (const _ of batch) {
      const said = outcome(await connection.answer());
      outcomes.set(said, (outcomes.get(said) ?? 0) + 1);
    }
  }
  connection.close();
}

/** Well-formed, but not for us. */
function misdirected(random: Random, url: string): string {
  const all = [
    post('/', '{}'),
    post(`${url}/../..`, '{}'),
    post(url, '{}', 'content-type: text/plain\r\n'),
    post(url, '{}', ''),
    `GET ${url} HTTP/1.1\r\nhost: a\r\n\r\n`,
    `DELETE ${url} HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}`,
    `POST ${url} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  ];
  return all[Math.floor(random() * all.length)] ?? '';
}

test(`${REQUESTS} hostile reviews`, async () => {
  const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31);
  const outcomes = new Map<string, number>();
  const all = (count: number, offset: number) =>
    Promise.all(
      Array.from({ length: LANES }, (_, lane) => attack(count / LANES, randomFrom(seed + offset + lane), outcomes)),
    );
  await all(REQUESTS / 10, 0);
  const before = await figures();
  const begin = performance.now();
  await all((REQUESTS / 10) * 9, LANES);
  const rate = ((REQUESTS / 10) * 9) / ((performance.now() - begin) / 1000);
  const after = await figuresBelow(before.used + MOST_GROWTH);
  const shown = [...outcomes].map(([what, count]) => `${what}: ${count}`);
  console.log(`FUZZ_SEED=${seed}, ${Math.round(rate)}/s\n${shown.join('\n')}`);
  console.log(
    `in use ${mb(before.used)} before and ${mb(after.used)} after; resident ${mb(before.resident)} and ${mb(after.resident)}`,
  );
  const known = ['200 allowed', '200 denied with 422', '400', '404', '405', '415'];
  expect([...outcomes.keys()].filter((what) => !known.includes(what))).toEqual([]);
  expect([...outcomes.values()].reduce((sum, count) => sum + count, 0)).toBe(REQUESTS);
  expect(after.errors).toEqual([]);
  expect(after.used).toBeLessThan(before.used + MOST_GROWTH);
});

const mb = (bytes: number) => `${(bytes / MEGABYTE).toFixed(1)} MB`;

test('bodies of 50 MB, and reviews that are one deep hole', async () => {
  const before = await figures();
  const piece = Buffer.alloc(MEGABYTE, ' ');
  for (let round = 0; round < 10; round += 1) {
    const connection = await open();
    const length = round % 2 === 0 ? `content-length: ${50 * MEGABYTE}` : 'transfer-encoding: chunked';
    connection.send(
      `POST ${validation.path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n${length}\r\n\r\n`,
    );
    for (let sent = 0; sent < 50; sent += 1) {
      if (round % 2 === 1) connection.send('100000\r\n');
      connection.send(piece);
      if (round % 2 === 1) connection.send('\r\n');
    }
    expect((await connection.answer()).status).toBe(413);
    connection.close();
  }
  for (const [url, hole] of [
    [mutation.path, 'spec'],
    [validation.path, 'spec'],
    [mutation.path, 'metadata'],
  ] as const) {
    const connection = await open();
    const depth = 200_000;
    const deep = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
    const request = { uid: 'u', operation: 'UPDATE', resource: { group: 'memcached.c5c3.io', resource: 'memcacheds' } };
    const object = { metadata: {}, spec: {}, [hole]: { deep: '?' } };
    const review = {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: { ...request, object, oldObject: { spec: { deep: '?' } } },
    };
    connection.send(post(url, JSON.stringify(review).replaceAll('"?"', deep)));
    expect(['200 allowed', '400']).toContain(outcome(await connection.answer()));
    connection.close();
  }
  const after = await figuresBelow(before.used + MOST_GROWTH);
  console.log(
    `in use ${mb(before.used)} before and ${mb(after.used)} after; resident ${mb(before.resident)} and ${mb(after.resident)}`,
  );
  expect(after.errors).toEqual([]);
  expect(after.used).toBeLessThan(before.used + MOST_GROWTH);
});

test.for([
  [
    'a body that ends too early',
    `POST ${validation.path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
  ],
  ['headers that end too early', `POST ${validation.path} HTTP/1.1\r\nhost: a\r\ncontent-`],
  ['no HTTP', 'hello\r\n\r\n'],
  ['two lengths', `POST ${validation.path} HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}`],
  [
    'a length and chunks',
    `POST ${validation.path} HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  ['a length below zero', `POST ${validation.path} HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n`],
  [
    'chunks that are none',
    `POST ${validation.path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n`,
  ],
  ['headers without end', `POST ${validation.path} HTTP/1.1\r\nhost: a\r\nx: ${'x'.repeat(100_000)}`],
] as const)('%s', async ([, text]) => {
  const connection = await open();
  connection.send(text);
  connection.finish();
  expect([400, 431]).toContain((await connection.answer()).status);
  connection.close();
  const other = await open();
  other.send('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n');
  expect(await other.answer()).toMatchObject({ status: 200, body: 'ok\n' });
  other.close();
});
