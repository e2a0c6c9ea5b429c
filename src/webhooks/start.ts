/** Serves the webhooks, with a certificate from one of three places: kept by the operator, mounted, or made for a local process. */
import { type Memcached, memcachedKind } from '../api/index.ts';
import { type CertificateSource, certificateFiles } from '../runtime/certificates/source.ts';
import { type Client, isNotFound } from '../runtime/client/index.ts';
import type { HttpsServer } from '../runtime/https-server.ts';
import { CertificateKeeper } from './certificates/keeper.ts';
import { bundleOf, newKeyring } from './certificates/keyring.ts';
import { webhookService } from './configurations.ts';
import type { EndpointOptions } from './endpoint.ts';
import { identityOf, register, unregister, urlOf } from './local.ts';
import { serveWebhooks } from './server.ts';
import type { FindMemcached } from './validation.ts';

export interface WebhooksOptions extends Omit<EndpointOptions, 'find'> {
  readonly host: string | undefined;
  readonly port: number;
  readonly certificate: CertificateOrigin;
  readonly client: Client;
  readonly signal: AbortSignal;
}

export type CertificateOrigin =
  /** Kept in a Secret of the operator's namespace, for all replicas. */
  | { readonly from: 'operator'; readonly namespace: string; readonly lifetimeMs: number }
  /** Files that somebody else renews; he also makes the API server trust it. */
  | { readonly from: 'directory'; readonly directory: string }
  /** Made anew with each start; the API server is told to call this host. */
  | { readonly from: 'local'; readonly host: string };

export interface Webhooks {
  readonly port: number;
  /** What is still missing before they can be called; nothing when they can. */
  missing(): string | undefined;
  /** When their certificate expires, in milliseconds since 1970; nothing while there is none that is trusted. */
  validUntil(): number | undefined;
  /** Resolves when nobody is being answered any more. */
  stop(): Promise<void>;
}

const DRAINING_MS = 5000;
const YEAR_MS = 365 * 86_400_000;

/** Resolves when the port is open. Rejects when it cannot be, or when there is no certificate in the directory. */
export function startWebhooks(options: WebhooksOptions): Promise<Webhooks> {
  const { certificate } = options;
  if (certificate.from === 'operator') return startKept(options, certificate);
  return certificate.from === 'directory' ? startMounted(options, certificate) : startLocal(options, certificate);
}

async function startKept(
  options: WebhooksOptions,
  { namespace, lifetimeMs }: CertificateOrigin & { from: 'operator' },
): Promise<Webhooks> {
  const { name } = webhookService(namespace);
  const identity = { dnsNames: [`${name}.${namespace}.svc`, `${name}.${namespace}.svc.cluster.local`] };
  // Until there is one for all, one that nobody trusts: so the port is open from the start.
  let serving = newKeyring({ identity, lifetimeMs: YEAR_MS, now: Date.now() }).serving;
  const server = await serve(options, async () => serving);
  const keeper = new CertificateKeeper({
    ...options,
    namespace,
    identity,
    lifetimeMs,
    onCertificate(pair) {
      serving = pair;
      void server.renew();
    },
  });
  let isReady = false;
  void keeper.ready.then(() => (isReady = true));
  const keeping = keeper.run(options.signal);
  return {
    port: server.port,
    missing: () => (isReady ? undefined : 'webhooks: no certificate that the API server trusts'),
    validUntil: () => (isReady ? server.validUntil : undefined),
    async stop() {
      await closed(server);
      await keeping;
    },
  };
}

async function startMounted(
  options: WebhooksOptions,
  { directory }: CertificateOrigin & { from: 'directory' },
): Promise<Webhooks> {
  const server = await serve(options, certificateFiles(directory));
  return {
    port: server.port,
    missing: () => undefined,
    validUntil: () => server.validUntil,
    stop: () => closed(server),
  };
}

async function startLocal(
  options: WebhooksOptions,
  { host }: CertificateOrigin & { from: 'local' },
): Promise<Webhooks> {
  const { client, log } = options;
  const keyring = newKeyring({ identity: identityOf(host), lifetimeMs: YEAR_MS, now: Date.now() });
  const server = await serve(options, async () => keyring.serving);
  const url = urlOf(host, server.port);
  await register(client, url, bundleOf(keyring));
  log.info('webhooks registered', { url });
  return {
    port: server.port,
    missing: () => undefined,
    validUntil: () => server.validUntil,
    async stop() {
      await unregister(client).catch((error: unknown) => log.error('webhooks cannot be unregistered', { error }));
      await server.close();
    },
  };
}

function serve(options: WebhooksOptions, certificate: CertificateSource): Promise<HttpsServer> {
  const { client } = options;
  const find: FindMemcached = (namespace, name) =>
    client.get<Memcached>(memcachedKind, name, namespace).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  return serveWebhooks({ ...options, certificate, find });
}

async function closed(server: HttpsServer): Promise<void> {
  await server.drain(DRAINING_MS);
  await server.close();
}
