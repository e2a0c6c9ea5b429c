/** Passes HTTP/2 requests on to the API server, whoever's they are, unless somebody steps in. */
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { Pair } from '../self-signed.ts';
import { type Breakage, breakOff } from './breakage.ts';

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly isWatch: boolean;
  readonly isWrite: boolean;
}

/** What becomes of a request instead of an honest answer. */
export type Intervention =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body: string }
  | Breakage;

export interface Upstream {
  /** Such as https://10.0.0.2:6443. */
  readonly server: string;
  readonly authority: string;
}

export class Relay {
  /** Asked about every request. */
  intervene: (call: Call) => Intervention | undefined = () => undefined;
  /** Ends the interventions that are under way. */
  untilHealed = new AbortController().signal;
  /** How often it has done harm, to connections, watches and requests. */
  harm = 0;
  /** Told of every request. */
  onCall: (call: Call) => void = () => undefined;
  readonly #upstream: Upstream;
  readonly #server: Http2SecureServer;
  readonly #sessions = new Map<ServerHttp2Session, ClientHttp2Session>();
  /** Each with where its events come from. */
  readonly #watches = new Map<ServerHttp2Stream, ClientHttp2Stream>();
  readonly #sockets = new Set<Socket>();

  private constructor(upstream: Upstream, { certificate: cert, key }: Pair) {
    this.#upstream = upstream;
    this.#server = createSecureServer({ cert, key });
    this.#server.on('session', (session) => this.#accept(session));
    this.#server.on('stream', (stream, headers) => this.#relay(stream, headers));
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  static async start(upstream: Upstream, pair: Pair): Promise<Relay> {
    const relay = new Relay(upstream, pair);
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server, 'listening');
    return relay;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** From now on it shows this certificate to those who connect. */
  useCertificate({ certificate: cert, key }: Pair): void {
    this.#server.setSecureContext({ cert, key });
  }

  /** Sends everybody away: what is open may finish, new requests go elsewhere. */
  goAway(): void {
    this.harm += this.#sessions.size;
    for (const session of this.#sessions.keys()) session.close();
  }

  /** Ends all watches as the API server does when their time is over. An event that came after the end would keep it from being sent. */
  endWatches(): void {
    this.harm += this.#watches.size;
    for (const [near, far] of this.#watches) {
      far.unpipe(near).removeAllListeners('data').resume();
      near.end();
    }
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** A connection of its own for each that comes, so that the streams of two never add up. */
  #accept(session: ServerHttp2Session): void {
    const { server, authority } = this.#upstream;
    const far = connect(server, { ca: authority });
    this.#sessions.set(session, far);
    far.on('error', () => undefined);
    session.on('error', () => undefined);
    far.once('close', () => session.destroy());
    session.once('close', () => {
      this.#sessions.delete(session);
      far.destroy();
    });
  }

  #relay(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    stream.on('error', () => undefined);
    const call = callOf(headers);
    this.onCall(call);
    const intervention = this.intervene(call);
    if (intervention) this.harm += 1;
    if (intervention && 'status' in intervention) {
      stream.resume();
      stream.respond({ ':status': intervention.status, ...intervention.headers });
      stream.end(intervention.body);
      return;
    }
    const far = stream.session && this.#sessions.get(stream.session as ServerHttp2Session);
    if (!far || far.destroyed || far.closed) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
    const { ':authority': _, host: _h, ...rest } = headers;
    this.#join(stream, far.request(rest), call, intervention);
  }

  #join(near: ServerHttp2Stream, far: ClientHttp2Stream, call: Call, breakage: Breakage | undefined): void {
    near.pipe(far);
    far.on('error', () => undefined);
    far.once('response', ({ ':status': status = 500, ...headers }) => {
      if (near.destroyed) return;
      near.respond({ ':status': status, ...headers });
      if (call.isWatch) this.#watches.set(near, far);
      if (breakage && status === 200) breakOff(far, near, breakage, this.untilHealed);
      else far.pipe(near);
    });
    far.once('close', () => {
      if (far.rstCode !== constants.NGHTTP2_NO_ERROR && !near.closed) near.close(far.rstCode);
    });
    near.once('close', () => {
      this.#watches.delete(near);
      if (!far.closed) far.close(constants.NGHTTP2_CANCEL);
    });
  }
}

function callOf({ ':method': method = '', ':path': path = '' }: IncomingHttpHeaders): Call {
  return { method, path, isWatch: /[?&]watch=1/.test(path), isWrite: method !== 'GET' };
}
