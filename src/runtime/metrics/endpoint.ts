/** Answers GET /metrics, to callers that the API server knows and lets. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Log } from '../log.ts';
import { type CallerReviews, TooManyCallers } from './caller-reviews.ts';
import { CONTENT_TYPE } from './exposition.ts';

export const METRICS_PATH = '/metrics';

export interface EndpointOptions {
  readonly registry: { pieces(): Iterable<string> };
  readonly callers: Pick<CallerReviews, 'review'>;
  readonly log: Log;
}

interface Refusal {
  readonly status: number;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function metricsEndpoint({ registry, callers, log }: EndpointOptions) {
  const reviews = reviewer(callers, log);
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const refusal = misdirected(request) ?? (await reviews(request.headers.authorization));
    if (refusal) {
      // Who is refused does not keep a connection from those who are not.
      const headers = { 'content-type': 'text/plain; charset=utf-8', connection: 'close', ...refusal.headers };
      response.writeHead(refusal.status, headers).end(`${refusal.text}\n`);
      return;
    }
    if (response.destroyed) return; // nobody waits any more
    const isPacked = /\bgzip\b/.test(String(request.headers['accept-encoding']));
    response.writeHead(200, { 'content-type': CONTENT_TYPE, ...(isPacked && { 'content-encoding': 'gzip' }) });
    const page = Readable.from(registry.pieces());
    const told = isPacked ? pipeline(page, createGzip({ level: 1 }), response) : pipeline(page, response);
    await told.catch(unlessHungUp);
  };
}

/** Who hangs up in the midst of it does not want it any more. */
function unlessHungUp(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
}

function misdirected({ url = '', method }: IncomingMessage): Refusal | undefined {
  if (url.split('?')[0] !== METRICS_PATH) return { status: 404, text: `there is only ${METRICS_PATH}` };
  return method === 'GET' ? undefined : { status: 405, text: 'use GET', headers: { allow: 'GET' } };
}

/** Says why a caller is not answered; nothing if he is. */
function reviewer(callers: EndpointOptions['callers'], log: Log) {
  let isFailing = false;
  return async (authorization = ''): Promise<Refusal | undefined> => {
    const token = /^bearer +(\S+) *$/i.exec(authorization)?.[1];
    if (token === undefined) return unauthorized('send the token of a ServiceAccount: "Authorization: Bearer …"');
    try {
      const verdict = await callers.review(token);
      isFailing = false;
      if (verdict.is === 'unknown') return unauthorized('the API server does not accept this token');
      if (verdict.is === 'allowed') return undefined;
      const text = `${verdict.username} may not get the nonResourceURL ${METRICS_PATH}: bind a ClusterRole that allows it`;
      return { status: 403, text };
    } catch (error) {
      if (error instanceof TooManyCallers)
        return { status: 503, text: `${error.message}, try again`, headers: { 'retry-after': '1' } };
      if (!isFailing) log.error('callers of metrics cannot be reviewed', { error });
      isFailing = true; // said once, however many callers come
      return { status: 503, text: 'the API server could not be asked who you are, see the log of the operator' };
    }
  };
}

function unauthorized(text: string): Refusal {
  return { status: 401, text, headers: { 'www-authenticate': 'Bearer' } };
}
