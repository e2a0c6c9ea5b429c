/** An HTTPS server that no caller can tie up, and whose certificate can be renewed while it runs. */
import { X509Certificate } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { CertifiedKey } from './certificates/certificate.ts';
import type { CertificateSource } from './certificates/source.ts';
import { type Clock, systemClock } from './clock.ts';
import type { Log } from './log.ts';

export interface HttpsServerOptions {
  readonly host: string | undefined;
  /** 0: any. */
  readonly port: number;
  readonly certificate: CertificateSource;
  readonly handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  readonly log: Log;
  readonly limits?: Partial<ServerLimits>;
  readonly clock?: Clock;
}

export interface ServerLimits {
  /** For the handshake, for the headers of a request, and for all of it. */
  readonly requestMs: number;
  /** From the headers of a request to the last byte of the answer. */
  readonly answerMs: number;
  /** How long a connection may be idle between two requests. */
  readonly idleMs: number;
  readonly connections: number;
  readonly headerBytes: number;
}

const LIMITS: ServerLimits = {
  requestMs: 10_000,
  answerMs: 30_000,
  idleMs: 75_000, // longer than people let pass between two scrapes
  connections: 64,
  headerBytes: 16 * 1024,
};

const RENEWAL_MS = 10_000;

/** What has forward secrecy and authenticates what it encrypts. */
const CIPHERS =
  'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20';

export class HttpsServer {
  readonly #server: Server;
  readonly #options: HttpsServerOptions;
  readonly #clock: Clock;
  /** Unlike the server's own list, this one has connections that have not got through the handshake, too. */
  readonly #sockets = new Set<Duplex>();
  #pair: CertifiedKey;
  #complaint = '';
  #isDraining = false;
  #onSocketClosed = () => {};
  #cancelRenewal = () => {};

  private constructor(options: HttpsServerOptions, pair: CertifiedKey) {
    const limits = { ...LIMITS, ...options.limits };
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#pair = pair;
    this.#server = createServer(
      {
        ...secured(pair),
        handshakeTimeout: limits.requestMs,
        headersTimeout: limits.requestMs,
        requestTimeout: limits.requestMs,
        connectionsCheckingInterval: Math.ceil(limits.requestMs / 10), // otherwise nobody looks for half a minute
        keepAliveTimeout: limits.idleMs,
        maxHeaderSize: limits.headerBytes,
      },
      (request, response) => void this.#answer(request, response, limits.answerMs),
    );
    this.#server.maxConnections = limits.connections;
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => {
        this.#sockets.delete(socket);
        this.#onSocketClosed();
      });
    });
  }

  /** Resolves when it listens. Rejects when the certificate cannot be used, or the port. */
  static async start(options: HttpsServerOptions): Promise<HttpsServer> {
    const server = new HttpsServer(options, await options.certificate());
    await new Promise<void>((resolve, reject) => {
      server.#server.once('error', reject);
      server.#server.listen(options.port, options.host, resolve);
    });
    server.#server.on('error', (error) => options.log.error('connection cannot be accepted', { error }));
    server.#awaitRenewal();
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** When the certificate that it serves expires, in milliseconds since 1970. */
  get validUntil(): number {
    return new X509Certificate(this.#pair.certificate).validToDate.getTime();
  }

  /** Looks for a new certificate now. Never rejects: what cannot be used is not, and the last good one stays. */
  async renew(): Promise<void> {
    try {
      const pair = await this.#options.certificate();
      if (pair.certificate !== this.#pair.certificate || pair.key !== this.#pair.key) {
        this.#server.setSecureContext(secured(pair));
        this.#pair = pair;
        this.#options.log.info('certificate renewed', { port: this.port });
      }
      this.#complaint = '';
    } catch (error) {
      const complaint = String(error);
      if (complaint !== this.#complaint) this.#options.log.error('certificate cannot be renewed', { error });
      this.#complaint = complaint;
    }
  }

  /**
   * Answers go on, but each ends its connection, so that callers look for somebody else. To close a connection that
   * is idle could hit a caller who is just about to use it. Resolves when no connection is left, or after that time.
   */
  async drain(ms: number): Promise<void> {
    this.#isDraining = true;
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(ms, resolve);
      this.#onSocketClosed = () => {
        if (this.#sockets.size > 0) return;
        cancel();
        resolve();
      };
      this.#onSocketClosed();
    });
  }

  /** Breaks off what is still going on. */
  async close(): Promise<void> {
    this.#cancelRenewal();
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse, ms: number): Promise<void> {
    const cancel = this.#clock.after(ms, () => response.destroy());
    response.once('close', cancel);
    if (this.#isDraining) response.shouldKeepAlive = false;
    try {
      await this.#options.handle(request, response);
    } catch (error) {
      this.#options.log.error('request failed', { error });
      if (response.headersSent) response.destroy();
      else response.writeHead(500, { connection: 'close' }).end('internal error, see the log of the operator\n');
    }
  }

  #awaitRenewal(): void {
    if (!this.#server.listening) return; // closed meanwhile
    this.#cancelRenewal = this.#clock.after(RENEWAL_MS, () => void this.renew().then(() => this.#awaitRenewal()));
  }
}

function secured({ certificate: cert, key }: CertifiedKey) {
  return { cert, key, minVersion: 'TLSv1.2', ciphers: CIPHERS } as const;
}
