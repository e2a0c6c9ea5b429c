/** The server of metrics: HTTPS, and only for callers that the API server lets. */
import { certificateFiles, selfSigned } from '../certificates/source.ts';
import type { Client } from '../client/index.ts';
import { HttpsServer } from '../https-server.ts';
import type { Log } from '../log.ts';
import { CallerReviews } from './caller-reviews.ts';
import { METRICS_PATH, metricsEndpoint } from './endpoint.ts';
import type { Registry } from './registry.ts';

export interface MetricsServerOptions {
  readonly host: string | undefined;
  readonly port: number;
  /** Where tls.crt and tls.key are; without it, the certificate vouches for itself. */
  readonly certDirectory: string | undefined;
  readonly client: Pick<Client, 'create'>;
  readonly registry: Registry;
  readonly log: Log;
}

/** Resolves when it listens. */
export function serveMetrics(options: MetricsServerOptions): Promise<HttpsServer> {
  const { host, port, certDirectory, client, registry, log } = options;
  const identity = { subject: 'metrics', dnsNames: ['localhost'] };
  const callers = new CallerReviews({ client, path: METRICS_PATH });
  return HttpsServer.start({
    host,
    port,
    certificate: certDirectory === undefined ? selfSigned(identity, () => new Date()) : certificateFiles(certDirectory),
    handle: metricsEndpoint({ registry, callers, log }),
    log,
  });
}
