/** Carries requests to the API server and answers back: credentials, connections, time limits and second attempts. */
import { setTimeout as delay } from 'node:timers/promises';
import { connectSocket } from './connection.ts';
import { ApiError, apiErrorFrom, retryAfterFrom, SendRefused } from './errors.ts';
import { type Answer, send, textOf } from './exchange.ts';
import { GuardedSocket } from './guarded-socket.ts';
import { type ClientOptions, type ConnectionInfo, defaultLimits, type Limits } from './options.ts';
import { type History, pauseAfter } from './retries.ts';
import { Session, type SessionEvents } from './session.ts';
import { SessionPool } from './sessions.ts';
import { orAborted, TimeLimit } from './time-limit.ts';

export interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** For the metrics. */
  readonly verb: string;
  readonly kind?: string | undefined;
  readonly accept?: string | undefined;
  readonly contentType?: string | undefined;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export class Transport {
  readonly #options: ClientOptions;
  readonly #limits: Limits;
  readonly #prefix: string;
  readonly #random: () => number;
  readonly #requests: SessionPool;
  readonly #watches: SessionPool;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#prefix = new URL(options.access.server).pathname.replace(/\/+$/, '');
    this.#random = options.random ?? Math.random;
    this.#requests = this.#pool('requests', 1);
    this.#watches = this.#pool('watches', Number.POSITIVE_INFINITY);
  }

  /** The body of the answer, if that is a good one. */
  ask(call: Call): Promise<string> {
    return this.#persistently(call, async () => {
      const limit = new TimeLimit(this.#limits.requestTimeoutMs, call.signal);
      try {
        return await textOf(await this.#attempt(this.#requests, call, limit.signal));
      } finally {
        limit.end();
      }
    });
  }

  /** The chunks of an answer without end. */
  async *stream(call: Call): AsyncGenerator<Buffer, void> {
    const { answer, limit } = await this.#persistently(call, async () => {
      const begun = new TimeLimit(this.#limits.requestTimeoutMs, call.signal);
      try {
        return { answer: await this.#attempt(this.#watches, call, begun.signal), limit: begun };
      } catch (error) {
        begun.end();
        throw error;
      }
    });
    limit.lift();
    try {
      yield* answer.chunks;
    } finally {
      limit.end();
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#requests.close(), this.#watches.close()]);
  }

  async #persistently<T>(call: Call, attempt: () => Promise<T>): Promise<T> {
    const history: History = { refused: 0, lost: 0, unauthorized: 0, busy: 0 };
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        const pause = pauseAfter(error, call.method === 'GET', history, this.#random);
        if (pause === undefined) throw error;
        await delay(pause, undefined, { signal: call.signal }).catch(() => call.signal?.throwIfAborted());
      }
    }
  }

  /** The answer, if it is a good one. */
  async #attempt(pool: SessionPool, call: Call, signal: AbortSignal): Promise<Answer> {
    const { maySend, access } = this.#options;
    const { credentials, headers } = access;
    const credential = await orAborted(credentials.current(), signal);
    const question = { headers: { ...headers, ...this.#headersOf(call, credential.token) }, body: call.body };
    const begin = performance.now();
    let code = 0;
    try {
      const answer = await pool.open(credential, signal, async (session) => {
        if (maySend?.() === false) throw new SendRefused(`${call.verb} ${call.path}`);
        return send(session, question, signal);
      });
      code = answer.status;
      if (code >= 200 && code < 300) return answer;
      const retryAfter = retryAfterFrom(answer.headers['retry-after'], this.#options.now ?? Date.now);
      throw apiErrorFrom(await textOf(answer), code, retryAfter);
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) credentials.reject(credential);
      throw error;
    } finally {
      const seconds = (performance.now() - begin) / 1000;
      this.#options.onRequest?.({ verb: call.verb, method: call.method, kind: call.kind, code, seconds });
    }
  }

  #headersOf(call: Call, token: string | undefined): Record<string, string> {
    return {
      ':method': call.method,
      ':path': this.#prefix + call.path,
      accept: call.accept ?? 'application/json',
      'user-agent': this.#options.userAgent,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(call.contentType === undefined ? {} : { 'content-type': call.contentType }),
    };
  }

  #pool(purpose: ConnectionInfo['purpose'], maxSessions: number): SessionPool {
    const { access, maySend, onConnection } = this.#options;
    const { connectTimeoutMs: timeoutMs, streamsPerSession: maxStreams, ...pings } = this.#limits;
    return new SessionPool({
      maxSessions,
      random: this.#random,
      connect: async (credential, events, signal) => {
        const socket = await connectSocket({ access, credential, timeoutMs, signal });
        const { certificate } = credential;
        const told: SessionEvents = {
          ...events,
          onClose: (closed, loss) => {
            onConnection?.({ purpose, state: 'closed', loss });
            events.onClose(closed, loss);
          },
        };
        onConnection?.({ purpose, state: 'open' });
        const guarded = maySend ? new GuardedSocket(socket, maySend) : socket;
        return new Session(guarded, { server: access.server, certificate, maxStreams, ...pings }, told);
      },
    });
  }
}
