/** The webhook server as a process of its own, that says how much memory it holds. Started by `node --expose-gc`. */
import { createCertificate } from '../../src/runtime/certificates/certificate.ts';
import { serveWebhooks } from '../../src/webhooks/server.ts';

export interface Started {
  readonly port: number;
  readonly authority: string;
}

export interface Figures {
  /** What is in use after a collection of garbage, in bytes. */
  readonly used: number;
  readonly resident: number;
  /** What went wrong inside, and should not have. */
  readonly errors: readonly string[];
}

const errors: string[] = [];
const life = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 3_600_000) };
const pair = createCertificate({ subject: 'webhooks', ipAddresses: ['127.0.0.1'], ...life });
const server = await serveWebhooks({
  host: '127.0.0.1',
  port: 0,
  certificate: () => Promise.resolve(pair),
  defaults: {},
  find: (namespace, name) =>
    Promise.resolve({ apiVersion: '', kind: '', metadata: { namespace, name }, spec: { replicas: 2 } }),
  log: {
    debug: () => {},
    info: () => {},
    error: (message, fields) => void errors.push(`${message} ${String(fields?.['error'])}`),
  },
});

process.on('message', () => {
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  process.send?.({ used: heapUsed + external, resident: rss, errors } satisfies Figures);
});
process.once('disconnect', () => process.exit());
process.send?.({ port: server.port, authority: pair.certificate } satisfies Started);
