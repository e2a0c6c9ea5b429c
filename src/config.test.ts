import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ConfigError, HELP, readConfig } from './config.ts';

test('without flags, everything has a default', () => {
  expect(readConfig([], {})).toEqual({
    watchNamespaces: [],
    concurrency: 16,
    webhooks: { address: { host: undefined, port: 9443 }, certificateLifetimeMs: 90 * 86_400_000 },
    logLevel: 'info',
    healthAddress: { host: undefined, port: 8081 },
    metricsAddress: { host: undefined, port: 8443 },
  });
});

test('flags win over the environment', () => {
  const env = { RELATED_IMAGE_MEMCACHED: 'a', RELATED_IMAGE_MEMCACHED_EXPORTER: 'b' };
  expect(readConfig(['--default-image', 'c'], env)).toMatchObject({ defaultImage: 'c', defaultExporterImage: 'b' });
});

test('reads what it is given', () => {
  const args = '--kubeconfig f --context c --watch-namespaces a,b,a --concurrency 4 --log-level debug'.split(' ');
  const config = readConfig([...args, '--health-probe-bind-address', '[::1]:9000'], {});
  expect(config).toMatchObject({
    kubeconfig: 'f',
    context: 'c',
    watchNamespaces: ['a', 'b'],
    concurrency: 4,
    logLevel: 'debug',
    healthAddress: { host: '::1', port: 9000 },
  });
});

test('metrics have an address and a certificate, or are off', () => {
  const args = ['--metrics-bind-address', '127.0.0.1:0', '--metrics-cert-dir', '/certs'];
  expect(readConfig(args, {})).toMatchObject({
    metricsAddress: { host: '127.0.0.1', port: 0 },
    metricsCertDirectory: '/certs',
  });
  expect(readConfig(['--metrics-bind-address', '0'], {})).not.toHaveProperty('metricsAddress');
});

test.each([
  [['--enable-webhooks'], { enabled: true }],
  [['--enable-webhooks=false'], { enabled: false }],
  [['--webhook-bind-address', '127.0.0.1:0'], { address: { host: '127.0.0.1', port: 0 } }],
  [['--webhook-cert-dir', '/certs'], { certDirectory: '/certs' }],
  [['--webhook-certificate-lifetime', '15s'], { certificateLifetimeMs: 15_000 }],
  [['--webhook-certificate-lifetime', '12h'], { certificateLifetimeMs: 43_200_000 }],
  [['--webhook-local-host', 'auto'], { localHost: 'auto' }],
  [['--webhook-local-host', '10.0.0.1'], { localHost: '10.0.0.1' }],
  [['--webhook-local-host', 'fd00::1'], { localHost: 'fd00::1' }],
])('%j is said about webhooks', (args, expected) => {
  expect(readConfig(args, {})).toMatchObject({ webhooks: expected });
});

test.each([
  [['--leader-elect'], { leaderElect: true }],
  [['--leader-elect', '--concurrency', '4'], { leaderElect: true, concurrency: 4 }],
  [['--leader-elect=true'], { leaderElect: true }],
  [
    ['--leader-elect=false', '--leader-election-namespace', 'ops'],
    { leaderElect: false, leaderElectionNamespace: 'ops' },
  ],
])('%j is understood as by other Kubernetes programs', (args, expected) => {
  expect(readConfig(args, {})).toMatchObject(expected);
});

test.each([
  [['--leader-elect=maybe'], '--leader-elect: "maybe" is neither true nor false.'],
  [['--leader-elect', 'false'], 'See --help.'],
  [['--leader-election-namespace', 'a_b'], '--leader-election-namespace: "a_b" cannot be the name of a namespace.'],
  [['--enable-webhooks=perhaps'], '--enable-webhooks: "perhaps" is neither true nor false.'],
  [['--webhook-bind-address', '9443'], '--webhook-bind-address (port): "" is not a whole number'],
  [['--webhook-certificate-lifetime', '90'], '--webhook-certificate-lifetime: "90" is not a time of at least 5 s'],
  [['--webhook-certificate-lifetime', '4s'], '--webhook-certificate-lifetime: "4s" is not a time of at least 5 s'],
  [['--webhook-certificate-lifetime', '999999d'], '--webhook-certificate-lifetime: "999999d" is not a time'],
  [['--webhook-local-host', 'https://a'], '--webhook-local-host: "https://a" is neither the name nor the address'],
  [['--webhook-local-host', 'a', '--webhook-cert-dir', 'b'], 'leave out --webhook-cert-dir'],
  [['--metrics-bind-address', 'off'], '--metrics-bind-address (port): "" is not a whole number'],
  [['--metrics-bind-address', ':70000'], '--metrics-bind-address (port): "70000" is not a whole number'],
  [['--concurrency', '0'], '--concurrency: "0" is not a whole number from 1 to 1000.'],
  [['--concurrency', 'many'], '--concurrency: "many" is not a whole number from 1 to 1000.'],
  [['--log-level', 'loud'], '--log-level: "loud" is none of debug, info, error.'],
  [['--watch-namespaces', 'a,B'], '--watch-namespaces: "B" cannot be the name of a namespace.'],
  [['--health-probe-bind-address', 'nowhere'], '--health-probe-bind-address (port): "" is not a whole number'],
  [['--nonsense'], 'See --help.'],
])('%j is refused', (args, message) => {
  expect(() => readConfig(args, {})).toThrow(ConfigError);
  expect(() => readConfig(args, {})).toThrow(message);
});

test('--help names every flag, and --version wins over nothing else', () => {
  expect(readConfig(['--help'], {})).toBe('help');
  expect(readConfig(['--version'], {})).toBe('version');
  const flags = [
    'kubeconfig',
    'context',
    'watch-namespaces',
    'default-image',
    'default-exporter-image',
    'concurrency',
    'leader-elect',
    'leader-election-namespace',
    'enable-webhooks',
    'webhook-bind-address',
    'webhook-cert-dir',
    'webhook-certificate-lifetime',
    'webhook-local-host',
  ];
  for (const flag of [
    ...flags,
    'health-probe-bind-address',
    'metrics-bind-address',
    'metrics-cert-dir',
    'log-level',
    'version',
    'help',
  ]) {
    expect(HELP).toContain(`--${flag}`);
  }
});

test('the documentation lists exactly the flags that the help does', () => {
  const page = readFileSync(path.resolve(import.meta.dirname, '../docs/flags.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `(--[^`]*)` \|/gm)].map(([, flag = '']) => flag.replaceAll('\\|', '|'));
  const flags = [...HELP.matchAll(/^ {2}(--\S+(?: <[^>]*>)?)/gm)].map(([, flag]) => flag);
  expect(rows).toEqual(flags);
});
