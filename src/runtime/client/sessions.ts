/** The sessions for one purpose: as few as carry the streams, opened when they are needed. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Credential } from './credentials.ts';
import { ConnectionLost } from './errors.ts';
import type { Session, SessionEvents } from './session.ts';

const FIRST_PAUSE_MS = 100;
/** Short, because it is one attempt for all who wait, and whatever has piled up begins when it succeeds. */
const LONGEST_PAUSE_MS = 2_000;

export interface SessionPoolOptions {
  readonly connect: (credential: Credential, events: SessionEvents, signal: AbortSignal) => Promise<Session>;
  /** Streams beyond what these carry wait, first come first served. */
  readonly maxSessions: number;
  readonly random: () => number;
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

interface Waiter {
  readonly credential: Credential;
  start(session: Session): void;
  fail(error: Error): void;
}

export class SessionPool {
  readonly #options: SessionPoolOptions;
  readonly #sessions = new Set<Session>();
  readonly #waiters = new Set<Waiter>(); // a Set keeps the order, and whoever gives up leaves it without a search
  readonly #closing = new AbortController();
  readonly #events: SessionEvents = {
    onRoom: () => this.#serve(),
    onAnswer: () => {
      this.#failures = 0;
      this.#wasWell = true;
    },
    onClose: (session) => {
      this.#sessions.delete(session);
      if (session.isFailure) this.#failures += 1;
      this.#serve();
    },
  };
  #isConnecting = false;
  /** Connections in a row that could not be made, or were of no use. */
  #failures = 0;
  /** Why the last attempt to connect failed, if it did. */
  #failure: Error | undefined;
  /** Whether the server has ever answered. That it does not now is an outage, and passes; otherwise it is more likely a mistake. */
  #wasWell = false;

  constructor(options: SessionPoolOptions) {
    this.#options = options;
  }

  /**
   * Calls `start` when a session has room, at once if there is one; it has to open its stream before it returns.
   * Who waits in an outage begins in the moment that it is over.
   */
  open<T>(credential: Credential, signal: AbortSignal, start: (session: Session) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#closing.signal.aborted) throw new ConnectionLost('unreachable', 'the client is closed');
      signal.throwIfAborted();
      const abort = () => waiter.fail(this.#reasonOf(signal));
      const leave = () => {
        this.#waiters.delete(waiter);
        signal.removeEventListener('abort', abort);
      };
      const waiter: Waiter = {
        credential,
        start: (session) => {
          leave();
          resolve(start(session));
        },
        fail: (error) => {
          leave();
          reject(error);
        },
      };
      signal.addEventListener('abort', abort, { once: true });
      this.#waiters.add(waiter);
      this.#serve();
    });
  }

  /** Who has waited long enough in an outage is told of that; he knows how long it was. */
  #reasonOf({ reason }: AbortSignal): Error {
    return (reason instanceof ConnectionLost ? this.#failure : undefined) ?? (reason as Error);
  }

  async close(): Promise<void> {
    const loss = new ConnectionLost('closed', 'the client was closed');
    this.#closing.abort(loss);
    for (const waiter of this.#waiters) waiter.fail(loss);
    const sessions = [...this.#sessions];
    for (const session of sessions) session.destroy(loss);
    await Promise.all(sessions.map((session) => session.closed));
  }

  /** Starts whoever can be started, and sees to another session if there is someone left. */
  #serve(): void {
    for (const waiter of this.#waiters) {
      const session = this.#sessionFor(waiter.credential);
      if (!session) break;
      waiter.start(session);
    }
    this.#retireIdle();
    const open = [...this.#sessions].filter((session) => session.isOpen).length;
    if (this.#waiters.size > 0 && !this.#isConnecting && open < this.#options.maxSessions) void this.#connect();
  }

  #sessionFor({ certificate }: Credential): Session | undefined {
    for (const session of this.#sessions) {
      // A connection speaks for the certificate that it was made with: a new certificate needs a new one.
      if (session.isOpen && session.certificate !== certificate) session.retire();
      if (session.hasRoom) return session;
    }
    return undefined;
  }

  /** Of several sessions, one without streams is one too many. */
  #retireIdle(): void {
    const open = [...this.#sessions].filter((session) => session.isOpen);
    if (open.length < 2 || this.#waiters.size > 0) return;
    open.findLast((session) => session.streams === 0)?.retire();
  }

  /** Never rejects: a failure is told to those who wait, or waited out with them. The pauses between attempts grow. */
  async #connect(): Promise<void> {
    const { connect, random, sleep = (ms, signal) => delay(ms, undefined, { signal }) } = this.#options;
    const { signal } = this.#closing;
    this.#isConnecting = true;
    try {
      if (this.#failures > 0) {
        const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (this.#failures - 1));
        await sleep(pause * (0.5 + random() / 2), signal);
      }
      const [first] = this.#waiters;
      if (!first) return; // all gave up meanwhile
      const session = await connect(first.credential, this.#events, signal);
      this.#failure = undefined;
      this.#sessions.add(session);
      if (signal.aborted) session.destroy(new ConnectionLost('closed', 'the client was closed'));
    } catch (error) {
      this.#failures += 1;
      this.#failure = error as Error;
      if (!this.#wasWell) for (const waiter of this.#waiters) waiter.fail(this.#failure);
    } finally {
      this.#isConnecting = false;
    }
    this.#serve();
  }
}
