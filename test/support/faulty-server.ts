/** An HTTP/2 server that does what real API servers do only when something goes wrong. */
import { once } from 'node:events';
import {
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import type { Access } from '../../src/runtime/client/access.ts';
import { type Credentials, fixedCredentials } from '../../src/runtime/client/credentials.ts';
import { type Pair, selfSigned } from './self-signed.ts';

export interface Request {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly session: ServerHttp2Session;
  /** Counted from 0, over all connections. */
  readonly index: number;
  readonly answer: (status: number, body?: unknown, headers?: Record<string, string>) => void;
}

export interface FaultyServerOptions {
  onRequest?: (request: Request) => void;
  /** Instead of speaking HTTP/2; counted from 0. Says whether it has taken care of the connection. */
  onConnection?: (socket: TLSSocket, index: number) => boolean;
  readonly protocols?: readonly string[];
  readonly maxStreams?: number;
}

const pair = selfSigned();

export class FaultyServer {
  readonly sessions: ServerHttp2Session[] = [];
  /** Of each connection. */
  readonly hasClientCertificate: boolean[] = [];
  connections = 0;
  requests = 0;
  readonly #options: FaultyServerOptions;
  readonly #server: Server;
  readonly #certificate: string;
  readonly #sockets = new Set<Socket>();

  private constructor(options: FaultyServerOptions, { certificate, key }: Pair) {
    this.#options = options;
    this.#certificate = certificate;
    const { protocols = ['h2'] } = options;
    const tls = { cert: certificate, key, ALPNProtocols: [...protocols], requestCert: true, rejectUnauthorized: false };
    this.#server = createTlsServer(tls, (socket) => this.#accept(socket));
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.#server.on('tlsClientError', () => undefined);
  }

  static async start(options: FaultyServerOptions): Promise<FaultyServer> {
    const server = new FaultyServer(options, await pair);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** A certificate for clients: the server is not particular about whose it is. */
  pair(): Promise<Pair> {
    return pair;
  }

  access(port = this.port, credentials: Credentials = fixedCredentials({ token: 'secret' })): Access {
    return {
      server: `https://127.0.0.1:${port}`,
      namespace: 'default',
      authority: () => Promise.resolve(this.#certificate),
      inCluster: false,
      insecure: false,
      headers: {},
      credentials,
    };
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(socket: TLSSocket): void {
    socket.on('error', () => undefined);
    this.hasClientCertificate.push(Object.keys(socket.getPeerCertificate()).length > 0);
    const index = this.connections;
    this.connections += 1;
    if (this.#options.onConnection?.(socket, index)) return;
    const { maxStreams } = this.#options;
    const settings = maxStreams === undefined ? {} : { settings: { maxConcurrentStreams: maxStreams } };
    const session = performServerHandshake(socket, settings);
    session.on('error', () => undefined);
    this.sessions.push(session);
    session.on('stream', (stream, headers) => {
      stream.on('error', () => undefined);
      stream.resume();
      const request = this.requests;
      this.requests += 1;
      const answer: Request['answer'] = (status, body = {}, more = {}) => {
        stream.respond({ ':status': status, ...more });
        stream.end(typeof body === 'string' ? body : JSON.stringify(body));
      };
      this.#options.onRequest?.({ stream, headers, session, index: request, answer });
    });
  }
}

/** One HTTP/2 frame, for what no library would send. */
export function frame(type: number, streamId: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}
