/** What the webhook server answers, and to what. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DefaultOptions } from '../api/index.ts';
import type { AdmissionRequest } from '../kubernetes/admission.ts';
import type { Log } from '../runtime/log.ts';
import { type BodyLimits, bodyReader, HttpRefusal } from './body.ts';
import { mutate } from './mutation.ts';
import { answer, denied, MalformedReview, readReview, type Verdict } from './review.ts';
import { type FindMemcached, validateRequest } from './validation.ts';

export const MUTATE_PATH = '/mutate-memcached-c5c3-io-v1alpha1-memcached';
export const VALIDATE_PATH = '/validate-memcached-c5c3-io-v1alpha1-memcached';
export const HEALTH_PATH = '/healthz';

export interface EndpointOptions {
  readonly defaults: DefaultOptions;
  readonly find: FindMemcached;
  readonly log: Log;
}

/** The old and the new object, 1.5 MiB each at most in etcd, and what surrounds them. */
const BODIES: BodyLimits = { each: 4 * 1024 * 1024, together: 32 * 1024 * 1024 };

type Judge = (request: AdmissionRequest) => Verdict | Promise<Verdict>;

export function webhookEndpoint({ defaults, find, log }: EndpointOptions) {
  const judges: ReadonlyMap<string, Judge> = new Map<string, Judge>([
    [MUTATE_PATH, (request) => mutate(request, defaults)],
    [VALIDATE_PATH, (request) => validateRequest(request, find)],
  ]);
  const read = bodyReader(BODIES);
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      const path = request.url?.split('?')[0] ?? '';
      if (path === HEALTH_PATH) return healthy(request, response);
      const judge = judges.get(path);
      if (!judge) throw new HttpRefusal(404, `there are only ${[...judges.keys(), HEALTH_PATH].join(', ')}`);
      requireJson(request);
      const review = readReview(await read(request));
      const text = answer(review, await judged(review, judge, log));
      send(response, 200, { 'content-type': 'application/json' }, text);
    } catch (error) {
      refuse(response, error);
    }
  };
}

/** What cannot be judged is not let through, and whoever asked is told so. */
async function judged(review: AdmissionRequest, judge: Judge, log: Log): Promise<Verdict> {
  try {
    return await judge(review);
  } catch (error) {
    if (error instanceof MalformedReview) throw error;
    if (error instanceof RangeError) throw new MalformedReview('the object is nested too deeply');
    log.error('admission failed', { error, namespace: review.namespace, name: review.name });
    return denied({
      message: 'the operator could not look at this request, see its log; try again',
      reason: 'InternalError',
      code: 500,
    });
  }
}

function healthy({ method = '' }: IncomingMessage, response: ServerResponse): void {
  if (!['GET', 'HEAD'].includes(method)) throw new HttpRefusal(405, 'use GET', { allow: 'GET, HEAD' });
  send(response, 200, PLAIN, 'ok\n');
}

function requireJson({ method, headers }: IncomingMessage): void {
  if (method !== 'POST') throw new HttpRefusal(405, 'use POST', { allow: 'POST' });
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  if (type.trim().toLowerCase() !== 'application/json') throw new HttpRefusal(415, 'send application/json');
}

/** Whatever is left of the request is read and thrown away, so that the answer arrives. */
function refuse(response: ServerResponse, error: unknown): void {
  const refusal = error instanceof MalformedReview ? new HttpRefusal(400, error.message) : error;
  if (!(refusal instanceof HttpRefusal)) {
    if (response.destroyed || response.req.destroyed) return; // whoever asked has gone
    throw error;
  }
  response.req.resume();
  send(response, refusal.status, { ...PLAIN, ...refusal.headers }, `${refusal.message}\n`);
}

const PLAIN = { 'content-type': 'text/plain; charset=utf-8' };

function send(response: ServerResponse, status: number, headers: Readonly<Record<string, string>>, text: string): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(text) }).end(text);
}
