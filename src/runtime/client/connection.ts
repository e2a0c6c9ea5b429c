/** One TLS connection to the API server, on which both sides have agreed to speak HTTP/2. */
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import type { Access } from './access.ts';
import type { Credential } from './credentials.ts';
import { ConfigurationError, ConnectionLost } from './errors.ts';

export interface ConnectOptions {
  readonly access: Access;
  readonly credential: Credential;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export async function connectSocket({ access, credential, timeoutMs, signal }: ConnectOptions): Promise<TLSSocket> {
  const authority = await access.authority().catch((error: unknown) => {
    throw new ConfigurationError('the certificate authority of the API server cannot be read', { cause: error });
  });
  signal.throwIfAborted();
  const socket = open(access, credential, authority);
  const lost = (why: string, cause?: unknown) =>
    new ConnectionLost('unreachable', `no connection to ${access.server}: ${why}`, cause);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => socket.destroy(lost(`no answer in ${timeoutMs / 1000} s`)), timeoutMs);
    const abort = () => socket.destroy(lost('given up'));
    signal.addEventListener('abort', abort, { once: true });
    const settle = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    };
    socket.on('error', (error: Error) => reject(error instanceof ConnectionLost ? error : lost(error.message, error)));
    socket.once('close', () => {
      settle();
      reject(lost('closed by the other side'));
    });
    socket.once('secureConnect', () => {
      settle();
      if (socket.alpnProtocol === 'h2') resolve(socket);
      else socket.destroy(lost('the server, or a proxy before it, speaks HTTP/1.1 only, and HTTP/2 is needed'));
    });
  });
}

function open(access: Access, { certificate: cert, key }: Credential, ca: string | undefined): TLSSocket {
  const { hostname, port } = new URL(access.server);
  const host = hostname.replace(/^\[|\]$/g, ''); // an IPv6 address
  const servername = access.serverName ?? (isIP(host) ? undefined : host);
  try {
    return connect({
      host,
      port: Number(port || 443),
      ALPNProtocols: ['h2', 'http/1.1'],
      rejectUnauthorized: !access.insecure,
      ...(servername === undefined ? {} : { servername }),
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined || key === undefined ? {} : { cert, key }),
    });
  } catch (error) {
    throw new ConfigurationError('the certificates for the API server cannot be used', { cause: error });
  }
}
