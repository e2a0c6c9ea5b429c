/** The server that the API server asks before it stores a Memcached. */
import type { CertificateSource } from '../runtime/certificates/source.ts';
import { HttpsServer } from '../runtime/https-server.ts';
import { type EndpointOptions, webhookEndpoint } from './endpoint.ts';

export interface WebhookServerOptions extends EndpointOptions {
  readonly host: string | undefined;
  readonly port: number;
  readonly certificate: CertificateSource;
}

/** API servers keep idle connections for 90 s: were the server the first to close one, it could hit a request on its way. */
const IDLE_MS = 120_000;

/** Some API servers, with as many connections as requests that they have under way. */
const CONNECTIONS = 512;

/** Resolves when it listens. */
export function serveWebhooks({ host, port, certificate, ...endpoint }: WebhookServerOptions): Promise<HttpsServer> {
  return HttpsServer.start({
    host,
    port,
    certificate,
    handle: webhookEndpoint(endpoint),
    log: endpoint.log,
    limits: { idleMs: IDLE_MS, connections: CONNECTIONS },
  });
}
