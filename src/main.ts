/** The operator: everything is wired here, and only here is the process touched. */
import { randomUUID } from 'node:crypto';
import { homedir, hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import manifest from '../package.json' with { type: 'json' };
import type { DefaultOptions } from './api/index.ts';
import { type Config, ConfigError, HELP, readConfig } from './config.ts';
import { eventRecorder } from './controller/events.ts';
import { certificateMetrics, operatorMetrics, serverMetrics, webhookMetrics } from './controller/metrics.ts';
import { moderated } from './controller/moderation.ts';
import { Pace } from './controller/pace.ts';
import { LEASE } from './controller/permissions.ts';
import { type Reconciler, reconcile } from './controller/reconcile.ts';
import { gatherStatistics } from './controller/statistics/index.ts';
import { watch } from './controller/watches.ts';
import { Wishes } from './controller/wishes.ts';
import { World } from './controller/world.ts';
import { watchDefinitions } from './runtime/cache/index.ts';
import { UnusableCertificate } from './runtime/certificates/source.ts';
import { type Access, type Client, ConfigurationError, createClient, findAccess } from './runtime/client/index.ts';
import { runWorkers } from './runtime/controller.ts';
import { serveHealth } from './runtime/health.ts';
import { collectGarbage, compactHeap, followGrowth } from './runtime/heap.ts';
import { partsOf } from './runtime/key.ts';
import { LeaderElector, RENEWAL_LIMITS } from './runtime/leader/elector.ts';
import type { Log } from './runtime/log.ts';
import { type ControllerMetrics, controllerMetrics, leaderMetrics } from './runtime/metrics/controller-metrics.ts';
import { processMetrics } from './runtime/metrics/process-metrics.ts';
import { Registry } from './runtime/metrics/registry.ts';
import { requestMetrics } from './runtime/metrics/request-metrics.ts';
import { serveMetrics } from './runtime/metrics/server.ts';
import { type Priority, WorkQueue } from './runtime/queue/work-queue.ts';
import { Tidying } from './runtime/tidying.ts';
import { addressTowards, type CertificateOrigin, startWebhooks, type Webhooks } from './webhooks/index.ts';

/** Put in where the operator is bundled; sources that run as they are may have changed since any commit. */
declare const COMMIT: string | undefined;
const VERSION = manifest.version;
const CONTROLLER = 'memcached';
/** How long a stop waits for events: workers get 15 s and the Lease a few, of the 30 s that Kubernetes leaves by default. */
const EVENTS_MS = 2000;

/** How often the details of one status may change: people read no faster, and scripts wait for conditions. */
const DETAILS_MS = 1000;

async function main(): Promise<void> {
  const config = readConfig(process.argv.slice(2), process.env);
  if (config === 'help') return void process.stdout.write(HELP);
  if (config === 'version') return void process.stdout.write(`memcached-operator ${build()}\n`);
  const growthPercent = flaggedGrowthPercent();
  if (growthPercent !== undefined) followGrowth(growthPercent);
  const log = logger(config);
  const access = await findAccess({ ...config, env: process.env, home: homedir() });
  const registry = new Registry(log);
  const userAgent = `memcached-operator/${VERSION}`;
  const shared = { access, userAgent, onRequest: requestMetrics(registry) };
  const client = createClient(shared);
  const leaseClient = createClient({ ...shared, limits: RENEWAL_LIMITS }); // its own connection: renewals do not queue
  const signal = stopSignal(log);
  const elector = electorOf(config, access, leaseClient, log, signal);
  const writer = elector ? createClient({ ...shared, maySend: () => elector.isLeading }) : client;
  try {
    await run({ config, access, client, writer, elector, registry, log, signal });
  } finally {
    await Promise.all([client, leaseClient, writer].map((one) => one.close()));
  }
}

function build(): string {
  const commit = typeof COMMIT === 'undefined' ? 'unknown' : COMMIT;
  return `${VERSION}, commit ${commit}, Node ${process.version}`;
}

/** By how much the heap may grow, if Node was told when it was started: as the image does, and whoever tries out something else. */
function flaggedGrowthPercent(): number | undefined {
  const [, percent] = /^--heap-growing-percent=(\d+)$/m.exec(process.execArgv.join('\n')) ?? [];
  return percent === undefined ? undefined : Number(percent);
}

interface Parts {
  readonly config: Config;
  readonly access: Access;
  /** For all that goes on whoever leads. */
  readonly client: Client;
  /** For what only the leader may do. */
  readonly writer: Client;
  readonly elector: LeaderElector | undefined;
  readonly registry: Registry;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Starts everything in its order, and when the signal is given, stops it the other way round. */
async function run({ config, access, client, writer, elector, registry, log, signal }: Parts): Promise<void> {
  const worlds = worldsOf(config, client, log);
  const informers = [...worlds.values()].flatMap((world) => world.informers);
  // Health first: whatever else takes its time, the kubelet gets an answer.
  const started: { webhooks?: Webhooks | undefined } = {};
  const health = await serveHealth({
    ...config.healthAddress,
    missing() {
      const unread = informers.find((informer) => !informer.hasSynced());
      return unread ? `still reading: ${unread.kind.plural}` : started.webhooks?.missing();
    },
  });
  const measured = controllerMetrics(registry, CONTROLLER, config.concurrency);
  operatorMetrics(registry, [...worlds.values()], { version: VERSION, node: process.version });
  certificateMetrics(registry, [...worlds.values()]);
  webhookMetrics(registry, () => started.webhooks?.validUntil());
  processMetrics(registry, { figures: process, signal });
  leaderMetrics(registry, LEASE, () => elector?.isLeading ?? true);
  const metrics = await startMetrics(config, client, registry, log);

  // Webhooks whoever leads: every replica answers, and while we stop, until callers have found another one.
  started.webhooks = await startAdmission({ config, access, client, log, signal });
  const admitting = aborted(signal).then(() => started.webhooks?.stop());

  // Caches before the Lease: who takes over acts at once, on what is so now.
  const ofCustomKinds = [...worlds.values()].flatMap((world) => world.ofCustomKinds);
  const watching = [
    watchDefinitions(ofCustomKinds, { client, log }, signal),
    ...informers.map((informer) => informer.run(signal)),
  ];
  await Promise.race([Promise.all(informers.map(({ synced }) => synced)), aborted(signal)]);
  const tidying = new Tidying([collectGarbage, compactHeap]);
  tidying.soon();

  // The Lease when there is nothing left to wait for: who has it has to act. While another one has it, we stand by here.
  await elector?.lead(signal);
  if (!signal.aborted)
    log.info('in control', { memcacheds: [...worlds.values()].reduce((sum, world) => sum + world.memcacheds.size, 0) });

  // Workers last: they alone write. When they are done, the Lease may go; it is the first to, for others wait for it.
  await work({ config, access, client: writer, registry, log, signal, worlds, measured, tidying });
  tidying.stop();
  await elector?.release();
  await Promise.all([...watching, admitting]);
  await metrics?.close();
  health.close();
  log.info('stopped');
}

interface Work extends Pick<Parts, 'config' | 'access' | 'client' | 'registry' | 'log' | 'signal'> {
  readonly worlds: ReadonlyMap<string, World>;
  readonly measured: ControllerMetrics;
  readonly tidying: Tidying;
}

/** Until the signal is given; then it takes nothing new, and finishes what it has begun. */
async function work({ config, access, client, registry, log, signal, worlds, measured, tidying }: Work): Promise<void> {
  const added = (priority: Priority) => {
    measured.hooks.added(priority);
    if (priority !== 'refresh') tidying.soon(); // figures of servers come all the time
  };
  const queue = new WorkQueue({ hooks: { ...measured.hooks, added } });
  measured.show(queue);
  for (const world of worlds.values()) watch(world, queue);
  const othersWait = () => queue.wishes > 0;
  const { recordEvent, settled } = eventRecorder({ client, log, instance: hostname(), othersWait });
  const worldOf = (key: string) => worlds.get(partsOf(key).namespace ?? '') ?? worlds.get(EVERYWHERE);
  const now = () => new Date();
  const statistics = gatherStatistics({ worlds: [...worlds.values()], worldOf, queue, log, now, signal });
  serverMetrics(registry, statistics);
  const by = {
    client,
    recordEvent: moderated(recordEvent),
    statistics,
    wishes: new Wishes(defaultsOf(config)),
    pace: new Pace(DETAILS_MS),
    now,
    ...ownPods(access),
  };
  await runWorkers({
    controller: CONTROLLER,
    queue,
    onReconciled: measured.onReconciled,
    concurrency: config.concurrency,
    log,
    signal,
    async reconcile(key, context) {
      const world = worldOf(key);
      return world && reconcile(key, { world, ...by }, context);
    },
  });
  statistics.close();
  await Promise.race([settled(), delay(EVENTS_MS, undefined, { ref: false })]);
}

/** Where our own pods are, as config/manager has them; outside of the cluster there are none. */
function ownPods({ inCluster, namespace }: Access): Pick<Reconciler, 'operator'> {
  return inCluster ? { operator: { namespace, labels: { 'app.kubernetes.io/name': 'memcached-operator' } } } : {};
}

function defaultsOf({ defaultImage, defaultExporterImage }: Config): DefaultOptions {
  return {
    ...(defaultImage !== undefined && { image: defaultImage }),
    ...(defaultExporterImage !== undefined && { exporterImage: defaultExporterImage }),
  };
}

/** Serves webhooks where they are wanted: in a pod unless they are switched off, elsewhere if they are switched on. */
async function startAdmission({ config, access, client, log, signal }: Omit<Parts, 'writer' | 'elector' | 'registry'>) {
  const { enabled, address, localHost } = config.webhooks;
  if (!(enabled ?? (access.inCluster || localHost !== undefined))) return undefined;
  const origin = await certificateOrigin(config, access);
  const options = { ...address, defaults: defaultsOf(config), certificate: origin, client, log, signal };
  const webhooks = await startWebhooks(options).catch((error: unknown) => {
    const isUnusable = error instanceof UnusableCertificate;
    throw isUnusable ? new ConfigError(`--webhook-cert-dir: ${error.message}`) : error;
  });
  log.info('serving webhooks', { port: webhooks.port });
  return webhooks;
}

async function certificateOrigin({ webhooks }: Config, access: Access): Promise<CertificateOrigin> {
  const { certDirectory: directory, localHost, certificateLifetimeMs: lifetimeMs } = webhooks;
  if (directory !== undefined) return { from: 'directory', directory };
  if (localHost === undefined) return { from: 'operator', namespace: access.namespace, lifetimeMs };
  return { from: 'local', host: localHost === 'auto' ? await addressTowards(access.server) : localHost };
}

/** Serves metrics, unless that is switched off. */
async function startMetrics(config: Config, client: Client, registry: Registry, log: Log) {
  const { metricsAddress: address, metricsCertDirectory: certDirectory } = config;
  if (!address) return undefined;
  const server = await serveMetrics({ ...address, certDirectory, client, registry, log });
  log.info('serving metrics', { port: server.port });
  return server;
}

/** Who leads, where there may be several of us: among the replicas in a cluster, unless told otherwise. */
function electorOf(
  config: Config,
  access: Access,
  client: Client,
  log: Log,
  stopping: AbortSignal,
): LeaderElector | undefined {
  if (!(config.leaderElect ?? access.inCluster)) return undefined;
  return new LeaderElector({
    client,
    namespace: config.leaderElectionNamespace ?? access.namespace,
    name: LEASE,
    identity: `${hostname()}_${randomUUID()}`,
    log,
    // At once: what is under way must not go on beside another leader. Who was told to stop has failed in nothing by it.
    onLost: () => process.exit(stopping.aborted ? 0 : 1),
  });
}

const EVERYWHERE = '*';

/** One for each namespace that is watched, or one for all. */
function worldsOf({ watchNamespaces }: Config, client: Client, log: Log): Map<string, World> {
  if (watchNamespaces.length === 0) return new Map([[EVERYWHERE, new World({ client, log })]]);
  return new Map(watchNamespaces.map((namespace) => [namespace, new World({ client, log, namespace })]));
}

function logger({ logLevel }: Config): Log {
  const logs = pino({
    level: logLevel,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    messageKey: 'message',
    serializers: { error: pino.stdSerializers.err },
    formatters: { level: (level) => ({ level }) },
  });
  return {
    debug: (message, fields = {}) => logs.debug(fields, message),
    info: (message, fields = {}) => logs.info(fields, message),
    error: (message, fields = {}) => logs.error(fields, message),
  };
}

/** SIGTERM and SIGINT stop it in order; a second one does not wait. */
function stopSignal(log: Log): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(1);
      log.info('stopping', { signal: name });
      stop.abort();
    });
  }
  return stop.signal;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

try {
  await main();
} catch (error) {
  const message = complaint(error);
  if (message === undefined) throw error;
  process.stderr.write(`memcached-operator: ${message}\n`);
  process.exit(2); // something may be listening already
}

/** What is wrong with the way that it was started, in words; nothing for any other error. */
function complaint(error: unknown): string | undefined {
  if (error instanceof ConfigError || error instanceof ConfigurationError) return error.message;
  if (error instanceof UnusableCertificate) return `--metrics-cert-dir: ${error.message}`;
  const isInUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
  const addresses = '--health-probe-bind-address, --metrics-bind-address or --webhook-bind-address';
  return isInUse ? `${error.message}: use another ${addresses}` : undefined;
}
