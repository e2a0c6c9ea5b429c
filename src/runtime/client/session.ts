/** One HTTP/2 session: a connection that carries many requests or watches at once. */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { ConnectionLost } from './errors.ts';
import { type PingOptions, watchPeer } from './liveness.ts';

/** Node's window of 64 KiB would slow down long lists on distant servers; this much may wait in memory for a slow reader. */
const STREAM_WINDOW = 256 * 1024;
const SESSION_WINDOW = 1024 * 1024;
/** Node counts what waits to be sent, and refuses to go on at 10 MB: less than 80 big applies. */
const SESSION_MEMORY_MB = 64;

export interface SessionOptions extends PingOptions {
  readonly server: string;
  /** The certificate with which the connection was made. */
  readonly certificate: string | undefined;
  readonly maxStreams: number;
}

/** A TLS socket, or something that stands before one. */
type Connection = Duplex & Pick<TLSSocket, 'bytesRead' | 'bytesWritten'>;

export interface SessionEvents {
  /** A stream has ended, or the server has changed its mind about how many there may be. */
  onRoom(): void;
  /** The server has answered for the first time: not all that accept a connection are willing to. */
  onAnswer(): void;
  onClose(session: Session, loss: ConnectionLost | undefined): void;
}

export class Session {
  readonly certificate: string | undefined;
  /** Settles when nothing is left of the session. */
  readonly closed: Promise<void>;
  readonly #session: ClientHttp2Session;
  readonly #socket: Connection;
  readonly #options: SessionOptions;
  readonly #events: SessionEvents;
  #streams = 0;
  #hasAnswered = false;
  #isRetired = false;
  #isSentAway = false;
  #loss: ConnectionLost | undefined;
  #lastProcessed = Number.POSITIVE_INFINITY;

  constructor(socket: Connection, options: SessionOptions, events: SessionEvents) {
    this.certificate = options.certificate;
    this.#options = options;
    this.#socket = socket;
    this.#events = events;
    this.#session = connect(options.server, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW },
      maxSessionMemory: SESSION_MEMORY_MB,
    });
    this.closed = this.#attend();
  }

  /** Listens to what becomes of the session. */
  #attend(): Promise<void> {
    const { server } = this.#options;
    const session = this.#session;
    const peer = {
      // Node refuses to ping once the session takes no new streams; settings have to be acknowledged just the same.
      ping: () => {
        if (session.destroyed) return; // only its socket is left, waiting for the other side to close it too
        if (session.closed) session.settings({});
        else session.ping(() => undefined);
      },
      bytesRead: () => this.#socket.bytesRead,
      bytesWritten: () => this.#socket.bytesWritten,
    };
    const stopPings = watchPeer(peer, this.#options, () => {
      this.destroy(new ConnectionLost('silent', `${server} stopped answering`));
    });
    session.once('connect', () => {
      if (!session.destroyed) session.setLocalWindowSize(SESSION_WINDOW); // told late: it may be over already
    });
    session.on('remoteSettings', () => this.#events.onRoom());
    session.on('goaway', (_code: number, lastStreamId: number) => {
      this.#isSentAway = true;
      this.#lastProcessed = lastStreamId;
    });
    session.on('error', (error: Error) => {
      this.#loss ??= new ConnectionLost('closed', `the connection to ${server} broke: ${error.message}`, error);
    });
    return new Promise((resolve) => {
      session.once('close', () => {
        stopPings();
        resolve();
        this.#events.onClose(this, this.#loss);
      });
    });
  }

  get streams(): number {
    return this.#streams;
  }

  /** Whether new streams may be opened here at all. */
  get isOpen(): boolean {
    return !this.#isRetired && !this.#isSentAway && !this.#session.closed && !this.#session.destroyed;
  }

  /** Whether the session came to nothing, without having been told to end. */
  get isFailure(): boolean {
    return !this.#hasAnswered && !this.#isRetired;
  }

  get hasRoom(): boolean {
    const allowed = this.#session.remoteSettings?.maxConcurrentStreams ?? Number.POSITIVE_INFINITY;
    return this.isOpen && this.#streams < Math.min(allowed, this.#options.maxStreams);
  }

  /** Whoever opens a stream reads it to its end or destroys it; until then it takes up room. */
  request(headers: OutgoingHttpHeaders, endStream: boolean): ClientHttp2Stream {
    let stream: ClientHttp2Stream;
    try {
      stream = this.#session.request(headers, { endStream });
    } catch (error) {
      throw new ConnectionLost('refused', `the connection to ${this.#options.server} is closing`, error);
    }
    this.#streams += 1;
    stream.on('error', () => undefined); // told by `close`, which always follows; unheard it would end the process
    stream.once('response', () => {
      if (!this.#hasAnswered) this.#events.onAnswer();
      this.#hasAnswered = true;
    });
    stream.once('close', () => {
      this.#streams -= 1;
      this.#events.onRoom();
    });
    return stream;
  }

  /** Why a stream has ended before its answer did. */
  lossOf(stream: ClientHttp2Stream): ConnectionLost {
    const { server } = this.#options;
    const error: NodeJS.ErrnoException | null = stream.errored;
    const isRefused =
      stream.rstCode === constants.NGHTTP2_REFUSED_STREAM ||
      error?.code === 'ERR_HTTP2_GOAWAY_SESSION' ||
      (stream.id ?? Number.POSITIVE_INFINITY) > this.#lastProcessed;
    if (isRefused) return new ConnectionLost('refused', `${server} refused the request`, error);
    const { reason, message } = this.#loss ?? { reason: 'closed', message: `${server} broke off its answer` };
    const cause = error === this.#loss ? undefined : error; // what we destroyed ourselves says the same again
    return new ConnectionLost(reason, message, cause ?? this.#loss?.cause);
  }

  /** Takes no more streams, and closes when the open ones have ended. */
  retire(): void {
    this.#isRetired = true;
    if (!this.#session.closed) this.#session.close();
  }

  destroy(loss: ConnectionLost): void {
    this.#loss ??= loss;
    // With an error, because the streams of a session that is destroyed without one look as if they had ended well.
    if (!this.#session.destroyed) this.#session.destroy(loss, constants.NGHTTP2_NO_ERROR);
    this.#socket.destroy();
  }
}
