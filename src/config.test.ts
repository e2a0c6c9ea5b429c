import { expect, test } from 'vitest';
import { ConfigError, HELP, readConfig } from './config.ts';

test('without flags, everything has a default', () => {
  expect(readConfig([], {})).toEqual({
    watchNamespaces: [],
    concurrency: 16,
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
