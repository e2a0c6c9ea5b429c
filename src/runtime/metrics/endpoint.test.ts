import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { expect, onTestFinished, test, vi } from 'vitest';
import { TooManyCallers, type Verdict } from './caller-reviews.ts';
import { metricsEndpoint } from './endpoint.ts';

async function start(review: (token: string) => Promise<Verdict>, pieces: Iterable<string> = ['up 1\n', 'down 0\n']) {
  const errors: unknown[] = [];
  const log = { debug() {}, info() {}, error: (message: string, fields = {}) => void errors.push([message, fields]) };
  const handle = metricsEndpoint({ registry: { pieces: () => pieces }, callers: { review }, log });
  /** They would be told of by the server, if they failed. */
  const handled: Promise<void>[] = [];
  const answers: ServerResponse[] = [];
  const server = createServer((asked, answer) => {
    answers.push(answer);
    handled.push(handle(asked, answer));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const ask = (headers = {}, path = '/metrics', method = 'GET') =>
    new Promise<{ status: number | undefined; headers: Record<string, unknown>; body: Buffer }>((resolve, reject) => {
      const call = request({
        port,
        host: '127.0.0.1',
        path,
        method,
        headers: { connection: 'keep-alive', ...headers },
      });
      call.once('error', reject).once('response', (answer) => {
        void buffer(answer).then((body) => resolve({ status: answer.statusCode, headers: answer.headers, body }));
      });
      call.end();
    });
  return { ask, errors, port, handled, answers };
}

const bearer = { authorization: 'Bearer abc' };

test('gives the page to whom it may, packed where that is wanted', async () => {
  const tokens: string[] = [];
  const { ask } = await start(async (token) => {
    tokens.push(token);
    return { is: 'allowed' };
  });
  const plain = await ask(bearer);
  expect([plain.status, String(plain.body)]).toEqual([200, 'up 1\ndown 0\n']);
  expect(plain.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  const packed = await ask({ authorization: 'bearer  abc', 'accept-encoding': 'deflate, gzip' }, '/metrics?x=1');
  expect(packed.headers['content-encoding']).toBe('gzip');
  expect(String(gunzipSync(packed.body))).toBe('up 1\ndown 0\n');
  expect(tokens).toEqual(['abc', 'abc']);
});

test('who hangs up in the midst of the page ends it, and nobody is told', async () => {
  const ended = Promise.withResolvers<void>();
  function* endless() {
    try {
      for (;;) yield 'up 1\n'.repeat(10_000);
    } finally {
      ended.resolve();
    }
  }
  const { port, errors, handled } = await start(async () => ({ is: 'allowed' }), { [Symbol.iterator]: endless });
  const call = request({ port, host: '127.0.0.1', path: '/metrics', headers: bearer }).end();
  call.once('response', (answer) => answer.once('data', () => answer.destroy()));
  await ended.promise;
  await Promise.all(handled);
  expect([handled.length, errors]).toEqual([1, []]);
});

test('who hangs up before it is known who that is gets no page, and nobody is told', async () => {
  const [asked, known] = [Promise.withResolvers<void>(), Promise.withResolvers<Verdict>()];
  const review = () => {
    asked.resolve();
    return known.promise;
  };
  const { port, errors, handled, answers } = await start(review, {
    [Symbol.iterator]: () => expect.unreachable(),
  });
  const headers = { ...bearer, 'accept-encoding': 'gzip' };
  const call = request({ port, host: '127.0.0.1', path: '/metrics', headers }).end();
  await asked.promise;
  call.once('error', () => {}).destroy();
  await vi.waitFor(() => expect(answers[0]?.destroyed).toBe(true));
  known.resolve({ is: 'allowed' });
  await Promise.all(handled);
  expect([handled.length, errors]).toEqual([1, []]);
});

test.for([
  { headers: {}, status: 401 },
  { headers: { authorization: 'abc' }, status: 401 },
  { headers: { authorization: 'Bearer' }, status: 401 },
  { headers: { authorization: 'Basic abc' }, status: 401 },
  { headers: { authorization: 'Bearer a b' }, status: 401 },
  { headers: bearer, path: '/', status: 404 },
  { headers: bearer, path: '/metrics/', status: 404 },
  { headers: bearer, path: '//metrics', status: 404 },
  { headers: bearer, method: 'POST', status: 405 },
  { headers: bearer, method: 'HEAD', status: 405 },
])('$method $path $headers: $status, and nobody is asked', async ({ headers, path, method, status }) => {
  const { ask } = await start(() => Promise.reject(new Error('asked')));
  const answer = await ask(headers, path, method);
  expect(answer.status).toBe(status);
  expect(answer.headers['connection']).toBe('close');
});

test.for<[Verdict, number, string]>([
  [{ is: 'unknown' }, 401, 'the API server does not accept this token'],
  [{ is: 'forbidden', username: 'joe' }, 403, 'joe may not get the nonResourceURL /metrics'],
])('%j is answered with %i', async ([verdict, status, text]) => {
  const { ask } = await start(async () => verdict);
  const answer = await ask(bearer);
  expect(answer.status).toBe(status);
  expect(String(answer.body)).toContain(text);
  expect(answer.headers['www-authenticate']).toBe(status === 401 ? 'Bearer' : undefined);
});

test('an API server that cannot be asked is told to the caller, and once to the log until it can', async () => {
  let failure: Error | undefined = new Error('unreachable');
  const { ask, errors } = await start(() => (failure ? Promise.reject(failure) : Promise.resolve({ is: 'allowed' })));
  for (let round = 0; round < 3; round += 1) {
    const { status, body } = await ask(bearer);
    expect([status, String(body)]).toEqual([503, expect.stringContaining('could not be asked who you are')]);
  }
  expect(errors).toHaveLength(1);
  failure = undefined;
  expect((await ask(bearer)).status).toBe(200);
  failure = new Error('unreachable');
  await ask(bearer);
  expect(errors).toHaveLength(2);
  expect(JSON.stringify(errors)).not.toContain('abc');
});

test('too many callers are asked to come again', async () => {
  const { ask, errors } = await start(() => Promise.reject(new TooManyCallers('too many callers at once')));
  const answer = await ask(bearer);
  expect([answer.status, answer.headers['retry-after'], String(answer.body)]).toEqual([
    503,
    '1',
    'too many callers at once, try again\n',
  ]);
  expect(errors).toEqual([]);
});
