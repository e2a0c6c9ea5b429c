import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withDefaults, withStoredDefaults } from './defaults.ts';
import { type Memcached, type MemcachedSpec, memcachedKind } from './memcached.ts';
import { randomMemcached } from './random-memcached.ts';
import type { Schema } from './schema/json-schema.ts';
import { specSchema } from './schema/spec.ts';
import { structureErrors } from './validation/structure.ts';

function memcached(spec: MemcachedSpec): Memcached {
  const { apiVersion, kind } = memcachedKind;
  return { apiVersion, kind, metadata: { name: 'my-cache', namespace: 'default' }, spec };
}

describe('what is stored', () => {
  const stored = (spec: MemcachedSpec, options = {}) => withStoredDefaults(memcached(spec), options).spec;

  test('of an empty spec: the plain values, and no section that was not there', () => {
    expect(stored({})).toEqual({
      replicas: 1,
      image: 'memcached:1.6',
      memcached: {
        maxMemoryMB: 64,
        maxConnections: 1024,
        threads: 4,
        maxItemSize: '1m',
        verbosity: 0,
        extraArgs: [],
      },
    });
  });

  test('of a section: its own defaults', () => {
    expect(stored({ monitoring: { enabled: true, serviceMonitor: { interval: '15s' } } }).monitoring).toEqual({
      enabled: true,
      exporterImage: 'prom/memcached-exporter:v0.15.4',
      serviceMonitor: { interval: '15s', scrapeTimeout: '10s' },
    });
    expect(stored({ monitoring: { enabled: true } }).monitoring).not.toHaveProperty('serviceMonitor');
  });

  test('what the user wrote stays', () => {
    const spec = { replicas: 0, image: 'memcached:1.6.18', memcached: { threads: 8, extraArgs: ['-M'] } };
    expect(stored(spec)).toMatchObject(spec);
  });

  test('the operator may be started with other images', () => {
    const images = { image: 'registry.example/memcached:1', exporterImage: 'registry.example/exporter:1' };
    expect(stored({ monitoring: {} }, images)).toMatchObject({
      image: images.image,
      monitoring: { exporterImage: images.exporterImage },
    });
  });

  test('a cache that scales itself has no replicas, and by default follows its CPU', () => {
    const spec = stored({ autoscaling: { enabled: true, maxReplicas: 5 } });
    expect(spec).not.toHaveProperty('replicas');
    expect(spec.autoscaling).toEqual({
      enabled: true,
      minReplicas: 1,
      maxReplicas: 5,
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } },
      ],
    });
    expect(stored({ autoscaling: { enabled: false } })).toMatchObject({ replicas: 1 });
  });
});

describe('what is meant', () => {
  const meant = (spec: MemcachedSpec) => withDefaults(memcached(spec)).spec;

  test('by an empty spec', () => {
    expect(meant({})).toMatchObject({
      replicas: 1,
      highAvailability: { antiAffinityPreset: 'soft', podDisruptionBudget: { enabled: false } },
      monitoring: { enabled: false, serviceMonitor: { interval: '30s', scrapeTimeout: '10s' } },
      security: {
        podSecurityContext: {
          runAsNonRoot: true,
          runAsUser: 11211,
          runAsGroup: 11211,
          fsGroup: 11211,
          seccompProfile: { type: 'RuntimeDefault' },
        },
        containerSecurityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        sasl: { enabled: false },
        tls: { enabled: false, enableClientCert: false },
      },
      networkPolicy: { enabled: false, allowedSources: [], allowedMetricsSources: [] },
    });
  });

  test.for([
    [undefined, { enabled: true, preStopDelaySeconds: 5, terminationGracePeriodSeconds: 30 }],
    [{ enabled: true }, { enabled: true, preStopDelaySeconds: 10, terminationGracePeriodSeconds: 30 }],
    [
      { enabled: true, preStopDelaySeconds: 20, terminationGracePeriodSeconds: 60 },
      { enabled: true, preStopDelaySeconds: 20, terminationGracePeriodSeconds: 60 },
    ],
    [{ enabled: false }, { enabled: false, preStopDelaySeconds: 10, terminationGracePeriodSeconds: 30 }],
    [{}, { enabled: false, preStopDelaySeconds: 10, terminationGracePeriodSeconds: 30 }],
  ] as const)('by gracefulShutdown %j', ([written, expected]) => {
    const spec = meant({ highAvailability: written ? { gracefulShutdown: written } : {} });
    expect(spec.highAvailability.gracefulShutdown).toEqual(expected);
  });

  test('by a security context: itself, and nothing of the default', () => {
    const { security } = meant({ security: { podSecurityContext: { runAsUser: 1 }, containerSecurityContext: {} } });
    expect(security).toMatchObject({ podSecurityContext: { runAsUser: 1 }, containerSecurityContext: {} });
    expect(security.podSecurityContext).toEqual({ runAsUser: 1 });
    expect(security.containerSecurityContext).toEqual({});
  });

  test('by either place of the network policy: the same', () => {
    const networkPolicy = { enabled: true, allowedSources: [{ podSelector: {} }] };
    expect(meant({ security: { networkPolicy } })).toEqual(meant({ networkPolicy }));
  });
});

describe('properties', () => {
  test('what the user wrote is stored as it is, even where it is empty', () => {
    fc.assert(
      fc.property(randomMemcached, (random) => {
        expect(withStoredDefaults(random)).toEqual(containing(random));
      }),
    );
  });

  test('defaults are filled in once: twice is the same', () => {
    fc.assert(
      fc.property(randomMemcached, (random) => {
        const once = withDefaults(random);
        expect(withDefaults(once)).toEqual(once);
        expect(withStoredDefaults(withStoredDefaults(random))).toEqual(withStoredDefaults(random));
        expect(withDefaults(withStoredDefaults(random))).toEqual(once);
      }),
    );
  });

  test('what was given is not changed', () => {
    fc.assert(
      fc.property(randomMemcached, (random) => {
        const before = structuredClone(random);
        withDefaults(deeplyFrozen(random));
        expect(random).toEqual(before);
      }),
    );
  });

  test('what the API server fills in by the schema is what is meant anyway', () => {
    fc.assert(
      fc.property(randomMemcached, (random) => {
        const filled = { ...random, spec: filledIn(specSchema, random.spec) as MemcachedSpec };
        expect(withDefaults(filled)).toEqual(withDefaults(random));
      }),
    );
  });

  test('a defaulted object is still what the schema allows', () => {
    fc.assert(
      fc.property(randomMemcached, (random) => {
        expect(structureErrors(specSchema, withDefaults(random).spec, 'spec')).toEqual([]);
        expect(structureErrors(specSchema, withStoredDefaults(random).spec, 'spec')).toEqual([]);
      }),
    );
  });
});

/** Matches an object that has at least these fields, with just these values. */
function containing(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return expect.objectContaining(
    Object.fromEntries(Object.entries(value).map(([key, part]) => [key, containing(part)])),
  );
}

function deeplyFrozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deeplyFrozen);
  return value;
}

/** The defaults of a structural schema, as the API server fills them in. */
function filledIn(schema: Schema, value: unknown): unknown {
  if (!schema.properties || typeof value !== 'object' || value === null) return value;
  const missing = Object.entries(schema.properties)
    .filter(([name, field]) => field.default !== undefined && !(name in value))
    .map(([name, field]) => [name, field.default] as const);
  const there = Object.entries(value).map(([name, part]) => [
    name,
    filledIn(schema.properties?.[name] ?? schema, part),
  ]);
  return Object.fromEntries([...there, ...missing]) as unknown;
}
