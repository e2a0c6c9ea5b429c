/** The operator: everything is wired here, and only here is the process touched. */
import { homedir, hostname } from 'node:os';
import { pino } from 'pino';
import { type Config, ConfigError, HELP, readConfig } from './config.ts';
import { eventRecorder } from './controller/events.ts';
import { operatorMetrics } from './controller/metrics.ts';
import { reconcile } from './controller/reconcile.ts';
import { watch } from './controller/watches.ts';
import { World } from './controller/world.ts';
import { watchDefinitions } from './runtime/cache/index.ts';
import { UnusableCertificate } from './runtime/certificates/source.ts';
import { type Client, ConfigurationError, createClient, findAccess } from './runtime/client/index.ts';
import { runWorkers } from './runtime/controller.ts';
import { serveHealth } from './runtime/health.ts';
import { partsOf } from './runtime/key.ts';
import type { Log } from './runtime/log.ts';
import { controllerMetrics } from './runtime/metrics/controller-metrics.ts';
import { processMetrics } from './runtime/metrics/process-metrics.ts';
import { Registry } from './runtime/metrics/registry.ts';
import { requestMetrics } from './runtime/metrics/request-metrics.ts';
import { serveMetrics } from './runtime/metrics/server.ts';
import { WorkQueue } from './runtime/queue/work-queue.ts';

const VERSION = '0.1.0';
const CONTROLLER = 'memcached';

async function main(): Promise<void> {
  const config = readConfig(process.argv.slice(2), process.env);
  if (config === 'help') return void process.stdout.write(HELP);
  if (config === 'version')
    return void process.stdout.write(`memcached-operator ${VERSION}, Node ${process.version}\n`);
  const log = logger(config);
  const access = await findAccess({ ...config, env: process.env, home: homedir() });
  const registry = new Registry(log);
  const userAgent = `memcached-operator/${VERSION}`;
  const client = createClient({ access, userAgent, onRequest: requestMetrics(registry) });
  try {
    await run(config, client, registry, log, stopSignal(log));
  } finally {
    await client.close();
  }
}

/** From the first watch to the last reconcile. */
async function run(config: Config, client: Client, registry: Registry, log: Log, signal: AbortSignal): Promise<void> {
  const worlds = worldsOf(config, client, log);
  const informers = [...worlds.values()].flatMap((world) => world.informers);
  const health = await serveHealth({
    ...config.healthAddress,
    missing() {
      const unread = informers.find((informer) => !informer.hasSynced());
      return unread && `still reading: ${unread.kind.plural}`;
    },
  });
  const work = controllerMetrics(registry, CONTROLLER, config.concurrency);
  operatorMetrics(registry, [...worlds.values()], { version: VERSION, node: process.version });
  processMetrics(registry, { figures: process, signal });
  const metrics = await startMetrics(config, client, registry, log);
  const ofCustomKinds = [...worlds.values()].flatMap((world) => world.ofCustomKinds);
  const watching = [
    watchDefinitions(ofCustomKinds, { client, log }, signal),
    ...informers.map((informer) => informer.run(signal)),
  ];
  await Promise.race([Promise.all(informers.map(({ synced }) => synced)), aborted(signal)]);
  log.info('in control', { memcacheds: [...worlds.values()].reduce((sum, world) => sum + world.memcacheds.size, 0) });

  const queue = new WorkQueue({ hooks: work.hooks });
  work.show(queue);
  for (const world of worlds.values()) watch(world, queue);
  const recordEvent = eventRecorder(client, log, hostname(), () => new Date());
  const defaults = {
    ...(config.defaultImage !== undefined && { image: config.defaultImage }),
    ...(config.defaultExporterImage !== undefined && { exporterImage: config.defaultExporterImage }),
  };
  await runWorkers({
    controller: CONTROLLER,
    queue,
    onReconciled: work.onReconciled,
    concurrency: config.concurrency,
    log,
    signal,
    async reconcile(key, context) {
      const world = worlds.get(partsOf(key).namespace ?? '') ?? worlds.get(EVERYWHERE);
      return world && reconcile(key, { world, client, recordEvent, defaults, now: () => new Date() }, context);
    },
  });
  await Promise.all(watching);
  await metrics?.close();
  health.close();
  log.info('stopped');
}

/** Serves metrics, unless that is switched off. */
async function startMetrics(config: Config, client: Client, registry: Registry, log: Log) {
  const { metricsAddress: address, metricsCertDirectory: certDirectory } = config;
  if (!address) return undefined;
  const server = await serveMetrics({ ...address, certDirectory, client, registry, log });
  log.info('serving metrics', { port: server.port });
  return server;
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
  return isInUse ? `${error.message}: use another --health-probe-bind-address, or --metrics-bind-address` : undefined;
}
