import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Memcached, type MemcachedSpec, memcachedKind } from '../memcached.ts';
import { randomMemcached } from '../random-memcached.ts';
import { describeErrors } from './field-error.ts';
import { obstacles, validate, warningsAbout } from './index.ts';

function memcached(spec: MemcachedSpec, name = 'my-cache'): Memcached {
  const { apiVersion, kind } = memcachedKind;
  return { apiVersion, kind, metadata: { name, namespace: 'default' }, spec };
}

/** What kubectl would show, line by line. */
function errors(spec: MemcachedSpec, name?: string): string[] {
  return validate(memcached(spec, name)).map((error) => describeErrors([error]));
}

type Case = readonly [what: string, spec: MemcachedSpec, errors: readonly string[]];

const budget = (podDisruptionBudget: object, spec: MemcachedSpec = {}): MemcachedSpec => ({
  ...spec,
  highAvailability: { podDisruptionBudget: { enabled: true, ...podDisruptionBudget } },
});
const memory = (limit: string | number, spec: MemcachedSpec = {}): MemcachedSpec => ({
  ...spec,
  resources: { limits: { memory: limit } },
});
const scaling = (autoscaling: object, spec: MemcachedSpec = {}): MemcachedSpec => ({
  resources: { requests: { cpu: '250m' } },
  ...spec,
  autoscaling: { enabled: true, minReplicas: 2, maxReplicas: 10, ...autoscaling },
});
const amounts = (resources: object): MemcachedSpec => ({ resources, monitoring: { exporterResources: resources } });
const shutdown = (gracefulShutdown: object): MemcachedSpec => ({ highAvailability: { gracefulShutdown } });

const cases: Readonly<Record<string, readonly Case[]>> = {
  'memory limit': [
    ['none', { memcached: { maxMemoryMB: 1024 } }, []],
    ['other limits only', { resources: { limits: { cpu: '1' } } }, []],
    [
      'too low',
      memory('64Mi', { memcached: { maxMemoryMB: 64 } }),
      [
        'spec.resources.limits.memory: Invalid value: "64Mi": memory limit must be at least 96Mi (maxMemoryMB=64Mi + 32Mi overhead)',
      ],
    ],
    ['just enough', memory('96Mi'), []],
    ['just enough, in bytes', memory(96 * 2 ** 20), []],
    [
      'a byte too low',
      memory(96 * 2 ** 20 - 1),
      [
        'spec.resources.limits.memory: Invalid value: "100663295": memory limit must be at least 96Mi (maxMemoryMB=64Mi + 32Mi overhead)',
      ],
    ],
    ['in another unit', memory('0.1Gi'), []],
    [
      'decimal units are smaller',
      memory('100M'),
      [
        'spec.resources.limits.memory: Invalid value: "100M": memory limit must be at least 96Mi (maxMemoryMB=64Mi + 32Mi overhead)',
      ],
    ],
    [
      'no quantity',
      memory('plenty'),
      [
        'spec.resources.limits.memory: Invalid value: "plenty": must be a quantity such as 500m or 512Mi, and not negative',
      ],
    ],
  ],
  resources: [
    ['other resources, of both containers', amounts({ requests: { cpu: 1, 'example.com/gpu': '2' } }), []],
    ...['1e1.5', '1e1000', 'x', '-1'].map(
      (cpu): Case => [
        `a request of ${cpu}`,
        { resources: { requests: { cpu } } },
        [
          `spec.resources.requests.cpu: Invalid value: "${cpu}": must be a quantity such as 500m or 512Mi, and not negative`,
        ],
      ],
    ),
    [
      'of the exporter',
      { monitoring: { exporterResources: { limits: { memory: '64mb' } } } },
      [
        'spec.monitoring.exporterResources.limits.memory: Invalid value: "64mb": must be a quantity such as 500m or 512Mi, and not negative',
      ],
    ],
    ['as much as the limit', amounts({ requests: { cpu: '500m' }, limits: { cpu: 0.5 } }), []],
    [
      'more than the limit',
      { resources: { requests: { cpu: 1, memory: '1Gi' }, limits: { memory: '512Mi' } } },
      ['spec.resources.requests.memory: Invalid value: "1Gi": must not exceed the limit (512Mi)'],
    ],
    [
      'more than the limit, for the exporter',
      { monitoring: { exporterResources: { requests: { cpu: '1' }, limits: { cpu: '999m' } } } },
      ['spec.monitoring.exporterResources.requests.cpu: Invalid value: "1": must not exceed the limit (999m)'],
    ],
  ],
  'disruption budget': [
    ['absent', { replicas: 1, highAvailability: {} }, []],
    ['switched off', budget({ enabled: false, minAvailable: 5, maxUnavailable: 5 }), []],
    ['less than replicas', budget({ minAvailable: 2 }, { replicas: 3 }), []],
    [
      'as many as replicas',
      budget({ minAvailable: 3 }, { replicas: 3 }),
      [
        'spec.highAvailability.podDisruptionBudget.minAvailable: Invalid value: 3: minAvailable (3) must be less than replicas (3)',
      ],
    ],
    [
      'as many as the default of replicas',
      budget({ minAvailable: 1 }),
      [
        'spec.highAvailability.podDisruptionBudget.minAvailable: Invalid value: 1: minAvailable (1) must be less than replicas (1)',
      ],
    ],
    ['scaled to zero', budget({ minAvailable: 3 }, { replicas: 0 }), []],
    ['no fixed replicas', { ...scaling({}), ...budget({ minAvailable: 3 }) }, []],
    ['percentage', budget({ minAvailable: '99%' }, { replicas: 3 }), []],
    [
      'percentage that is everything',
      budget({ minAvailable: '100%' }, { replicas: 3 }),
      [
        'spec.highAvailability.podDisruptionBudget.minAvailable: Invalid value: "100%": minAvailable (100%) must be less than all replicas',
      ],
    ],
    [
      'percentage that is nothing',
      budget({ maxUnavailable: '0%' }, { replicas: 3 }),
      [
        'spec.highAvailability.podDisruptionBudget.maxUnavailable: Invalid value: "0%": maxUnavailable (0%) must allow for at least one replica',
      ],
    ],
    ['maxUnavailable', budget({ maxUnavailable: 3 }, { replicas: 3 }), []],
    [
      'both',
      budget({ minAvailable: 1, maxUnavailable: 1 }, { replicas: 3 }),
      [
        'spec.highAvailability.podDisruptionBudget: Invalid value: "": minAvailable and maxUnavailable are mutually exclusive, specify only one',
      ],
    ],
    [
      'neither',
      budget({}, { replicas: 3 }),
      [
        'spec.highAvailability.podDisruptionBudget: Required value: one of minAvailable or maxUnavailable must be set when PDB is enabled',
      ],
    ],
  ],
  'graceful shutdown': [
    ['absent', { highAvailability: {} }, []],
    ['defaults', shutdown({ enabled: true }), []],
    [
      'as long as the grace period',
      shutdown({ enabled: true, preStopDelaySeconds: 10, terminationGracePeriodSeconds: 10 }),
      [
        'spec.highAvailability.gracefulShutdown.terminationGracePeriodSeconds: Invalid value: 10: terminationGracePeriodSeconds (10) must exceed preStopDelaySeconds (10)',
      ],
    ],
    [
      'longer than the default grace period',
      shutdown({ enabled: true, preStopDelaySeconds: 45 }),
      [
        'spec.highAvailability.gracefulShutdown.terminationGracePeriodSeconds: Invalid value: 30: terminationGracePeriodSeconds (30) must exceed preStopDelaySeconds (45)',
      ],
    ],
    ['switched off', shutdown({ enabled: false, preStopDelaySeconds: 10, terminationGracePeriodSeconds: 5 }), []],
  ],
  'secret references': [
    ['switched off', { security: { sasl: { enabled: false }, tls: {} } }, []],
    [
      'SASL without',
      { security: { sasl: { enabled: true } } },
      [
        'spec.security.sasl.credentialsSecretRef.name: Required value: credentialsSecretRef.name is required when SASL is enabled',
      ],
    ],
    [
      'TLS with an empty one',
      { security: { tls: { enabled: true, certificateSecretRef: { name: '' } } } },
      [
        'spec.security.tls.certificateSecretRef.name: Required value: certificateSecretRef.name is required when TLS is enabled',
      ],
    ],
    [
      'both with',
      {
        security: {
          sasl: { enabled: true, credentialsSecretRef: { name: 'sasl-secret' } },
          tls: { enabled: true, certificateSecretRef: { name: 'tls-secret' } },
        },
      },
      [],
    ],
    [
      'client certificates without TLS',
      { security: { tls: { enableClientCert: true } } },
      ['spec.security.tls.enableClientCert: Invalid value: true: enableClientCert requires TLS to be enabled'],
    ],
  ],
  autoscaling: [
    ['valid', scaling({}), []],
    ['switched off', scaling({ enabled: false, minReplicas: 10, maxReplicas: 5 }, { replicas: 3, resources: {} }), []],
    [
      'with replicas',
      scaling({}, { replicas: 3 }),
      ['spec.replicas: Invalid value: 3: spec.replicas and spec.autoscaling.enabled are mutually exclusive'],
    ],
    [
      'upside down',
      scaling({ minReplicas: 10, maxReplicas: 5 }),
      ['spec.autoscaling.minReplicas: Invalid value: 10: minReplicas (10) must not exceed maxReplicas (5)'],
    ],
    [
      'without a maximum',
      { resources: { requests: { cpu: 1 } }, autoscaling: { enabled: true } },
      ['spec.autoscaling.maxReplicas: Required value: maxReplicas is required when autoscaling is enabled'],
    ],
    [
      'by default metrics, without a CPU request',
      scaling({}, { resources: {} }),
      [
        'spec.resources.requests.cpu: Required value: resources.requests.cpu is required when using CPU utilization metrics',
      ],
    ],
    [
      'by CPU of the container, without a CPU request',
      scaling(
        {
          metrics: [
            {
              type: 'ContainerResource',
              containerResource: { name: 'cpu', container: 'memcached', target: { type: 'Utilization' } },
            },
          ],
        },
        { resources: {} },
      ),
      [
        'spec.resources.requests.cpu: Required value: resources.requests.cpu is required when using CPU utilization metrics',
      ],
    ],
    [
      'by an amount of CPU, without a CPU request',
      scaling(
        {
          metrics: [
            { type: 'Resource', resource: { name: 'cpu', target: { type: 'AverageValue', averageValue: '500m' } } },
          ],
        },
        { resources: {} },
      ),
      [],
    ],
  ],
  'network policy': [
    ['in one place', { networkPolicy: { enabled: true } }, []],
    ['in the other', { security: { networkPolicy: { enabled: true } } }, []],
    [
      'in both',
      { networkPolicy: { enabled: true }, security: { networkPolicy: { enabled: true } } },
      [
        'spec.security.networkPolicy: Forbidden: spec.networkPolicy and spec.security.networkPolicy mean the same, specify only one',
      ],
    ],
  ],
  'item size': [
    ...['512k', '1m', '1536k', '32m'].map((maxItemSize): Case => [maxItemSize, { memcached: { maxItemSize } }, []]),
    ...['0k', '100k', '700k', '1500k', '33m', '4097m'].map(
      (maxItemSize): Case => [
        maxItemSize,
        { memcached: { maxItemSize } },
        [
          `spec.memcached.maxItemSize: Invalid value: "${maxItemSize}": maxItemSize must be a multiple of 512k between 512k and 32m (half of maxMemoryMB)`,
        ],
      ],
    ),
    [
      'more than memcached can',
      { memcached: { maxItemSize: '1025m', maxMemoryMB: 4096 } },
      [
        'spec.memcached.maxItemSize: Invalid value: "1025m": maxItemSize must be a multiple of 512k between 512k and 1024m',
      ],
    ],
    ['smaller pieces', { memcached: { maxItemSize: '96k', extraArgs: ['-o', 'slab_chunk_max=16'] } }, []],
    [
      'not of whole pieces',
      { memcached: { maxItemSize: '100k', extraArgs: ['-o', 'slab_chunk_max=16'] } },
      [
        'spec.memcached.maxItemSize: Invalid value: "100k": maxItemSize must be a multiple of 16k between 16k and 32m (half of maxMemoryMB)',
      ],
    ],
    ['in one piece', { memcached: { maxItemSize: '1m', extraArgs: ['-o', 'no_chunked_items'] } }, []],
    ['too large for one piece', { memcached: { maxItemSize: '1536k', extraArgs: ['-o', 'no_chunked_items'] } }, []],
    [
      'less than one piece',
      { memcached: { maxItemSize: '512k', extraArgs: ['-o', 'no_modern'] } },
      [
        'spec.memcached.maxItemSize: Invalid value: "512k": maxItemSize must be a multiple of 512k between 1m and 32m (half of maxMemoryMB)',
      ],
    ],
    ['half of an odd number', { memcached: { maxItemSize: '8704k', maxMemoryMB: 17 } }, []],
    [
      'more than half of an odd number',
      { memcached: { maxItemSize: '9m', maxMemoryMB: 17 } },
      [
        'spec.memcached.maxItemSize: Invalid value: "9m": maxItemSize must be a multiple of 512k between 512k and 8704k (half of maxMemoryMB)',
      ],
    ],
  ],
  connections: [
    ['enough for four threads', { memcached: { maxConnections: 29 } }, []],
    [
      'too few for four threads',
      { memcached: { maxConnections: 28 } },
      [
        'spec.memcached.maxConnections: Invalid value: 28: maxConnections must be at least 29: memcached needs that many for 4 threads and its listeners',
      ],
    ],
    [
      'too few for one more listener',
      {
        memcached: { maxConnections: 29 },
        monitoring: { enabled: true },
        security: { tls: { enabled: true, certificateSecretRef: { name: 'tls' } } },
      },
      [
        'spec.memcached.maxConnections: Invalid value: 29: maxConnections must be at least 30: memcached needs that many for 4 threads and its listeners',
      ],
    ],
  ],
  keys: [
    [
      'well-formed',
      { podLabels: { team: 'a', 'example.com/team': 'b' }, nodeSelector: { 'kubernetes.io/os': '' } },
      [],
    ],
    ...['', 'a b', '-a', 'a/b/c', '/a', 'Example.com/a', 'a'.repeat(64)].map(
      (key): Case => [
        JSON.stringify(key),
        { podAnnotations: { [key]: 'x' } },
        [
          `spec.podAnnotations: Invalid value: ${JSON.stringify(key)}: a key must be a name of at most 63 letters, digits, "-", "_" or ".", beginning and ending with a letter or digit, with an optional DNS name and "/" before it`,
        ],
      ],
    ),
  ],
};

describe.for(Object.entries(cases))('%s', ([, list]) => {
  test.for(list)('%s', ([, spec, expected]) => {
    expect(errors(spec)).toEqual(expected);
  });
});

describe('name', () => {
  test.for(['a', 'my-cache', 'a'.repeat(60)])('%s', (name) => {
    expect(errors({}, name)).toEqual([]);
  });

  test.for(['my.cache', '1cache', 'cache-', 'Cache', 'a'.repeat(61)])('not %s', (name) => {
    expect(errors({}, name)).toEqual([
      `metadata.name: Invalid value: "${name}": the name of a Memcached must be a DNS-1035 label of at most 60 characters (it names a Service, and its servers are name-63 at most)`,
    ]);
  });
});

describe('altogether', () => {
  test('nothing is wrong with an empty spec', () => {
    expect(errors({})).toEqual([]);
  });

  test('a valid cache with all features', () => {
    const spec: MemcachedSpec = {
      replicas: 3,
      image: 'memcached:1.6.28',
      memcached: { maxMemoryMB: 256 },
      resources: { limits: { memory: '320Mi' } },
      highAvailability: {
        podDisruptionBudget: { enabled: true, minAvailable: 2 },
        gracefulShutdown: { enabled: true, preStopDelaySeconds: 10, terminationGracePeriodSeconds: 30 },
      },
      security: {
        sasl: { enabled: true, credentialsSecretRef: { name: 'sasl-secret' } },
        tls: { enabled: true, certificateSecretRef: { name: 'tls-secret' } },
      },
    };
    expect(errors(spec)).toEqual([]);
  });

  const wrong: MemcachedSpec = {
    replicas: 3,
    memcached: { maxMemoryMB: 64 },
    resources: { limits: { memory: '64Mi' } },
    highAvailability: { podDisruptionBudget: { enabled: true, minAvailable: 3 } },
    security: { sasl: { enabled: true } },
  };

  test('all that is wrong is said at once', () => {
    expect(validate(memcached(wrong)).map(({ field, reason }) => `${reason} ${field}`)).toEqual([
      'FieldValueInvalid spec.resources.limits.memory',
      'FieldValueInvalid spec.highAvailability.podDisruptionBudget.minAvailable',
      'FieldValueRequired spec.security.sasl.credentialsSecretRef.name',
    ]);
  });

  test('what is long is cut, and what it should be is still said', () => {
    const [error = ''] = errors(memory('9'.repeat(1_000_000)));
    expect(error.length).toBeLessThan(500);
    expect(error).toContain('999…: must be a quantity such as');
  });

  test('whatever the schema allows, an answer is given', () => {
    fc.assert(
      fc.property(randomMemcached, (random) => {
        const found = validate(random);
        expect(found.every(({ field, message }) => /^(spec|metadata)\./.test(field) && message !== '')).toBe(true);
        warningsAbout(random);
      }),
    );
  });
});

test.each([
  ['neither', {}],
  ['both', { minAvailable: 1, maxUnavailable: 1 }],
])('a budget that says %s is refused, but can be carried out where nobody refused it', (_, said) => {
  const given = memcached(budget(said, { replicas: 3 }));
  expect(validate(given)).toHaveLength(1);
  expect(obstacles(given)).toEqual([]);
  const worse = memcached({ ...budget(said, { replicas: 3 }), memcached: { threads: 500 } });
  expect(obstacles(worse)).toHaveLength(1);
});
