/** Flags and environment, read once into what the operator is told to do. */
import { isIP } from 'node:net';
import { parseArgs } from 'node:util';

export interface Config {
  readonly kubeconfig?: string;
  readonly context?: string;
  /** Empty: all of them. */
  readonly watchNamespaces: readonly string[];
  readonly defaultImage?: string;
  readonly defaultExporterImage?: string;
  readonly concurrency: number;
  /** Whether one of several leads; without it, in a pod only. */
  readonly leaderElect?: boolean;
  /** Without it, the one of the pod or of the kubeconfig's context. */
  readonly leaderElectionNamespace?: string;
  readonly webhooks: WebhooksConfig;
  readonly logLevel: LogLevel;
  readonly healthAddress: Address;
  /** Without it no metrics are served. */
  readonly metricsAddress?: Address;
  readonly metricsCertDirectory?: string;
}

export interface WebhooksConfig {
  /** Whether they are served; without it, in a pod only. */
  readonly enabled?: boolean;
  readonly address: Address;
  /** Without it, the operator makes its own certificate. */
  readonly certDirectory?: string;
  readonly certificateLifetimeMs: number;
  /** The operator is not in the cluster: the API server is to call this host; "auto": find out which. */
  readonly localHost?: string;
}

export interface Address {
  readonly host: string | undefined;
  readonly port: number;
}

export const LOG_LEVELS = ['debug', 'info', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const HELP = `memcached-operator: makes Memcached resources true, and keeps them so.

Usage: memcached-operator [flags]

Which cluster:
  --kubeconfig <file>           kubeconfig (default: KUBECONFIG, the cluster that it runs in, or ~/.kube/config)
  --context <name>              context of the kubeconfig (default: its current one)
  --watch-namespaces <a,b,…>    only look at these namespaces (default: all)

What it does:
  --default-image <image>           image of memcached where a resource names none
                                    (default: RELATED_IMAGE_MEMCACHED, or memcached:1.6)
  --default-exporter-image <image>  image of the metrics exporter where a resource names none
                                    (default: RELATED_IMAGE_MEMCACHED_EXPORTER, or prom/memcached-exporter:v0.15.4)
  --concurrency <n>                 how many resources are looked at at once (default: 16)

One of several:
  --leader-elect[=false]                     only the one that holds a Lease writes; the others stand by
                                             (default: in a pod yes, elsewhere no)
  --leader-election-namespace <namespace>    where the Lease is; operators that are to work side by side need different ones
                                             (default: the pod's own, or that of the kubeconfig's context)

Webhooks:
  --enable-webhooks[=false]                  defaults and checks Memcacheds before they are stored
                                             (default: in a pod yes, elsewhere no)
  --webhook-bind-address <[host]:port>       where the API server asks, over HTTPS (default: :9443)
  --webhook-cert-dir <directory>             tls.crt and tls.key of somebody who also sees to it that the API server trusts
                                             them, read again when they change (default: the operator makes its own)
  --webhook-certificate-lifetime <duration>  of a certificate that the operator makes; after two thirds of it the next one
                                             is served: 90d, 12h, 30m, 15s (default: 90d)
  --webhook-local-host <host|auto>           outside of the cluster: registers webhooks that call this host, and removes them
                                             at the end; auto: the address that the API server is reached from

How it runs:
  --health-probe-bind-address <[host]:port>  where /healthz and /readyz answer (default: :8081)
  --metrics-bind-address <[host]:port|0>     where /metrics answers, over HTTPS; 0: nowhere (default: :8443)
  --metrics-cert-dir <directory>             tls.crt and tls.key to serve metrics with, read again when they change
                                             (default: a certificate that vouches for itself)
  --log-level <level>                        ${LOG_LEVELS.join(', ')} (default: info)
  --version                                  prints the version
  --help                                     prints this text
`;

/** A flag that cannot be understood. The message says which, and what is allowed. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What to do: run with this configuration, or only print something. */
export function readConfig(args: readonly string[], env: Environment): Config | 'help' | 'version' {
  const flags = parse(args);
  if (flags.help) return 'help';
  if (flags.version) return 'version';
  const defaultImage = flags['default-image'] ?? env['RELATED_IMAGE_MEMCACHED'];
  const defaultExporterImage = flags['default-exporter-image'] ?? env['RELATED_IMAGE_MEMCACHED_EXPORTER'];
  return Object.freeze({
    ...(flags.kubeconfig !== undefined && { kubeconfig: flags.kubeconfig }),
    ...(flags.context !== undefined && { context: flags.context }),
    watchNamespaces: namespaces(flags['watch-namespaces'] ?? ''),
    ...(defaultImage && { defaultImage }),
    ...(defaultExporterImage && { defaultExporterImage }),
    concurrency: wholeNumber('--concurrency', flags.concurrency, 1, 1000),
    ...leaderElection(flags['leader-elect'], flags['leader-election-namespace']),
    webhooks: webhooks(flags),
    logLevel: level(flags['log-level']),
    healthAddress: address('--health-probe-bind-address', flags['health-probe-bind-address']),
    ...metrics(flags['metrics-bind-address'], flags['metrics-cert-dir']),
  });
}

/** They can be switched off, too. */
const SWITCHES = new Set(['--leader-elect', '--enable-webhooks']);

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: args.map((arg) => (SWITCHES.has(arg) ? `${arg}=true` : arg)),
      options: {
        kubeconfig: { type: 'string' },
        context: { type: 'string' },
        'watch-namespaces': { type: 'string' },
        'default-image': { type: 'string' },
        'default-exporter-image': { type: 'string' },
        concurrency: { type: 'string', default: '16' },
        'leader-elect': { type: 'string' },
        'leader-election-namespace': { type: 'string' },
        'enable-webhooks': { type: 'string' },
        'webhook-bind-address': { type: 'string', default: ':9443' },
        'webhook-cert-dir': { type: 'string' },
        'webhook-certificate-lifetime': { type: 'string', default: '90d' },
        'webhook-local-host': { type: 'string' },
        'health-probe-bind-address': { type: 'string', default: ':8081' },
        'metrics-bind-address': { type: 'string', default: ':8443' },
        'metrics-cert-dir': { type: 'string' },
        'log-level': { type: 'string', default: 'info' },
        version: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    throw new ConfigError(`${error instanceof Error ? error.message : String(error)} See --help.`);
  }
}

function namespaces(text: string): string[] {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  return [...new Set(names.map((name) => namespace('--watch-namespaces', name)))];
}

function namespace(flag: string, name: string): string {
  if (/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)) return name;
  throw new ConfigError(`${flag}: "${name}" cannot be the name of a namespace.`);
}

function leaderElection(elect: string | undefined, place: string | undefined) {
  return {
    ...(elect !== undefined && { leaderElect: isOn('--leader-elect', elect) }),
    ...(place !== undefined && { leaderElectionNamespace: namespace('--leader-election-namespace', place) }),
  };
}

function isOn(flag: string, text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  throw new ConfigError(`${flag}: "${text}" is neither true nor false.`);
}

function webhooks(flags: ReturnType<typeof parse>): WebhooksConfig {
  const { 'enable-webhooks': enabled, 'webhook-cert-dir': certDirectory, 'webhook-local-host': localHost } = flags;
  if (certDirectory !== undefined && localHost !== undefined)
    throw new ConfigError('--webhook-local-host makes a certificate of its own: leave out --webhook-cert-dir.');
  return {
    ...(enabled !== undefined && { enabled: isOn('--enable-webhooks', enabled) }),
    address: address('--webhook-bind-address', flags['webhook-bind-address']),
    ...(certDirectory !== undefined && { certDirectory }),
    certificateLifetimeMs: duration('--webhook-certificate-lifetime', flags['webhook-certificate-lifetime']),
    ...(localHost !== undefined && { localHost: hostName('--webhook-local-host', localHost) }),
  };
}

function hostName(flag: string, text: string): string {
  if (/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(text) || isIP(text) !== 0) return text;
  throw new ConfigError(`${flag}: "${text}" is neither the name nor the address of a host.`);
}

const UNITS_MS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 };
const LEAST_MS = 5000;

function duration(flag: string, text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([dhms])$/.exec(text) ?? [];
  const ms = Number(count) * (UNITS_MS[unit] ?? Number.NaN);
  if (ms >= LEAST_MS && ms <= 100 * 365 * 86_400_000) return ms;
  throw new ConfigError(
    `${flag}: "${text}" is not a time of at least ${LEAST_MS / 1000} s, such as 90d, 12h, 30m or 15s.`,
  );
}

function level(text: string): LogLevel {
  const found = LOG_LEVELS.find((known) => known === text);
  if (found) return found;
  throw new ConfigError(`--log-level: "${text}" is none of ${LOG_LEVELS.join(', ')}.`);
}

function wholeNumber(flag: string, text: string, least: number, most: number): number {
  const number = Number(text);
  if (text.trim() !== '' && Number.isInteger(number) && number >= least && number <= most) return number;
  throw new ConfigError(`${flag}: "${text}" is not a whole number from ${least} to ${most}.`);
}

function metrics(bind: string, certDirectory: string | undefined) {
  return {
    ...(bind !== '0' && { metricsAddress: address('--metrics-bind-address', bind) }),
    ...(certDirectory !== undefined && { metricsCertDirectory: certDirectory }),
  };
}

function address(flag: string, text: string): Address {
  const colon = text.lastIndexOf(':');
  const host = text.slice(0, Math.max(colon, 0)).replace(/^\[(.*)\]$/, '$1');
  const port = colon < 0 ? '' : text.slice(colon + 1);
  return { host: host === '' ? undefined : host, port: wholeNumber(`${flag} (port)`, port, 0, 65_535) };
}
