/** The webhook server against callers that behave, and callers that do not. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Memcached } from '../api/index.ts';
import { createCertificate } from '../runtime/certificates/certificate.ts';
import type { HttpsServer } from '../runtime/https-server.ts';
import type { Log } from '../runtime/log.ts';
import { HEALTH_PATH, MUTATE_PATH, serveWebhooks, VALIDATE_PATH } from './index.ts';

const life = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 3_600_000) };
const pair = createCertificate({ subject: 'test', dnsNames: ['localhost'], ...life });

const logged: unknown[] = [];
const say = (message: string, fields?: object) => void logged.push([message, fields]);
const log: Log = { debug: say, info: say, error: say };
let find: () => Promise<Memcached | undefined> = () => Promise.resolve(undefined);
let server: HttpsServer;
const agent = new Agent({ keepAlive: true });

beforeAll(async () => {
  const certificate = () => Promise.resolve(pair);
  server = await serveWebhooks({ host: '127.0.0.1', port: 0, certificate, defaults: {}, find: () => find(), log });
});

afterAll(async () => {
  agent.destroy();
  await server.close();
});

interface Asked {
  readonly path?: string;
  readonly method?: string;
  readonly type?: string;
  readonly body?: string | Buffer;
}

async function ask({ path = VALIDATE_PATH, method = 'POST', type = 'application/json', body = '' }: Asked) {
  const call = httpsRequest({
    host: '127.0.0.1',
    port: server.port,
    servername: 'localhost',
    ca: pair.certificate,
    agent,
    path,
    method,
    headers: { 'content-type': type },
  });
  call.end(body);
  const [answer] = (await once(call, 'response')) as [IncomingMessage];
  return { status: answer.statusCode, headers: answer.headers, text: await text(answer) };
}

function review(request: object): string {
  return JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request });
}

const resource = { group: 'memcached.c5c3.io', version: 'v1alpha1', resource: 'memcacheds' };
const creation = (object: unknown) => ({ uid: 'a-1', operation: 'CREATE', resource, object });

test('validates and fills in defaults', async () => {
  const body = review(creation({ metadata: { name: 'a' }, spec: { resources: { limits: { memory: '1Gi' } } } }));
  for (const path of [VALIDATE_PATH, `${MUTATE_PATH}?timeout=10s`]) {
    const { status, headers, text: said } = await ask({ path, body, type: 'application/json; charset=utf-8' });
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('application/json');
    expect(JSON.parse(said)).toMatchObject({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: { uid: 'a-1', allowed: true },
    });
  }
});

test('is healthy', async () => {
  expect(await ask({ path: HEALTH_PATH, method: 'GET' })).toMatchObject({ status: 200, text: 'ok\n' });
});

describe('refuses', () => {
  const big = Buffer.alloc(5 * 1024 * 1024, ' ');
  test.for<[status: number, said: string, asked: Asked]>([
    [404, 'there are only /mutate-', { path: '/' }],
    [404, 'there are only', { path: '/metrics', method: 'GET' }],
    [405, 'use POST', { method: 'GET' }],
    [405, 'use GET', { path: HEALTH_PATH }],
    [415, 'send application/json', { type: 'text/plain' }],
    [413, 'a body may have 4194304 bytes', { body: big }],
    [404, 'there are only', { path: '/', body: big }],
    [400, 'the body is not JSON', { body: '{' }],
    [400, 'the body is not JSON', { body: Buffer.from([0xff, 0x00]) }],
    [400, 'the body is missing, or no object', { body: '[]' }],
    [400, 'the body is no AdmissionReview of admission.k8s.io/v1', { body: '{}' }],
    [400, 'request is missing, or no object', { body: review('x' as never) }],
    [400, 'request.uid is missing, or no string', { body: review({}) }],
    [400, 'request.operation is missing, or no string', { body: review({ uid: 'a' }) }],
    [400, 'request.object is missing, or no object', { body: review(creation(null)) }],
    [400, 'request.object.metadata is missing, or no object', { body: review(creation({})) }],
    [400, 'request.object.metadata.name is no string', { body: review(creation({ metadata: { name: 1 } })) }],
    [
      400,
      'request.oldObject.spec is missing, or no object',
      { body: review({ ...creation({ metadata: {} }), operation: 'UPDATE', oldObject: {} }) },
    ],
    [
      400,
      'nested too deeply',
      {
        body: review({ ...creation({ metadata: {}, spec: 'X' }), oldObject: { spec: { a: 'X' } } }).replaceAll(
          '"X"',
          `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`,
        ),
      },
    ],
  ])('with %i: %s', async ([status, said, asked]) => {
    const answer = await ask(asked);
    expect(answer).toMatchObject({ status, text: expect.stringContaining(said) });
    expect(answer.headers['allow']).toBe({ 'use POST': 'POST', 'use GET': 'GET, HEAD' }[said]);
    expect(await ask({ path: HEALTH_PATH, method: 'GET' })).toMatchObject({ status: 200 });
  });

  test('names that objects have anyway are names like any other', async () => {
    const body = review(creation({ metadata: { name: 'a' }, spec: '?' })).replace(
      '"?"',
      '{ "__proto__": { "replicas": 5 }, "constructor": {}, "podLabels": { "__proto__": "x" }, "memcached": { "__proto__": { "threads": 900 } } }',
    );
    const { status, text: said } = await ask({ path: MUTATE_PATH, body });
    const { patch } = (JSON.parse(said) as { response: { patch: string } }).response;
    expect(status).toBe(200);
    expect(JSON.parse(Buffer.from(patch, 'base64').toString())).toContainEqual({
      op: 'add',
      path: '/spec/memcached/threads',
      value: 4,
    });
    expect({}).not.toHaveProperty('replicas');
    const verdict = JSON.parse((await ask({ body })).text) as { response: object };
    expect(verdict.response).toMatchObject({
      status: { details: { causes: [{ field: 'spec.podLabels', message: expect.stringContaining('"__proto__"') }] } },
    });
  });
});

test('what cannot be looked at is not let through, and is told and logged', async () => {
  find = () => Promise.reject(new Error('no connection'));
  const scale = { ...creation({ metadata: {}, spec: { replicas: 2 } }), operation: 'UPDATE', subResource: 'scale' };
  const answer = await ask({ body: review({ ...scale, name: 'a', namespace: 'b' }) });
  expect(JSON.parse(answer.text)).toMatchObject({
    response: { uid: 'a-1', allowed: false, status: { code: 500, reason: 'InternalError' } },
  });
  expect(logged).toEqual([['admission failed', { error: new Error('no connection'), namespace: 'b', name: 'a' }]]);
});
