/** What the two webhooks say to requests of the API server. */
import { describe, expect, test } from 'vitest';
import { type Memcached, type MemcachedSpec, memcachedKind } from '../api/index.ts';
import type { AdmissionRequest } from '../kubernetes/admission.ts';
import { mutate } from './mutation.ts';
import type { Verdict } from './review.ts';
import { validateRequest } from './validation.ts';

const RESOURCE = { group: 'memcached.c5c3.io', version: 'v1alpha1', resource: 'memcacheds' };
const LIMITED = { resources: { limits: { memory: '1Gi' } } };

function memcached(spec: unknown, more: object = {}): Memcached {
  const { apiVersion, kind } = memcachedKind;
  return {
    apiVersion,
    kind,
    metadata: { name: 'my-cache', namespace: 'default' },
    spec: spec as MemcachedSpec,
    ...more,
  };
}

function request(object: unknown, oldObject?: unknown, more: Partial<AdmissionRequest> = {}): AdmissionRequest {
  const operation = oldObject === undefined ? 'CREATE' : 'UPDATE';
  return {
    uid: '1',
    operation,
    resource: RESOURCE,
    name: 'my-cache',
    namespace: 'default',
    object,
    oldObject,
    ...more,
  };
}

const nobody = () => Promise.reject(new Error('nobody asked for it'));

function patchOf({ patch = '' }: Verdict): unknown {
  return patch === '' ? [] : JSON.parse(Buffer.from(patch, 'base64').toString());
}

describe('defaulting', () => {
  test('adds what is missing, and nothing else', () => {
    const verdict = mutate(request(memcached({ memcached: { threads: 8 }, image: 'memcached:1.6.45' })), {});
    expect(verdict).toMatchObject({ allowed: true, patchType: 'JSONPatch' });
    expect(patchOf(verdict)).toEqual([
      { op: 'add', path: '/spec/memcached/maxMemoryMB', value: 64 },
      { op: 'add', path: '/spec/memcached/maxConnections', value: 1024 },
      { op: 'add', path: '/spec/memcached/maxItemSize', value: '1m' },
      { op: 'add', path: '/spec/memcached/verbosity', value: 0 },
      { op: 'add', path: '/spec/memcached/extraArgs', value: [] },
      { op: 'add', path: '/spec/replicas', value: 1 },
    ]);
  });

  test('uses the images that the operator was started with', () => {
    const images = { image: 'registry.example/memcached:1', exporterImage: 'registry.example/exporter:1' };
    expect(patchOf(mutate(request(memcached({ monitoring: {} })), images))).toEqual(
      expect.arrayContaining([
        { op: 'add', path: '/spec/image', value: images.image },
        { op: 'add', path: '/spec/monitoring/exporterImage', value: images.exporterImage },
      ]),
    );
  });

  test('autoscaling on: replicas that did not change are cleared; off: the present ones are kept', () => {
    const fixed = { replicas: 3, image: 'memcached:1.6', memcached: {} };
    const scaling = { ...fixed, autoscaling: { enabled: true, minReplicas: 1, maxReplicas: 9, metrics: [] } };
    const { replicas: _, ...unset } = scaling;
    const on = mutate(request(memcached(scaling), memcached(fixed, { status: { replicas: 3 } })), {});
    expect(patchOf(on)).toContainEqual({ op: 'remove', path: '/spec/replicas' });
    const stopped = { ...unset, autoscaling: { ...unset.autoscaling, enabled: false } };
    const off = mutate(request(memcached(stopped), memcached(unset, { status: { replicas: 7 } })), {});
    expect(patchOf(off)).toContainEqual({ op: 'add', path: '/spec/replicas', value: 7 });
  });

  test.for<[what: string, request: AdmissionRequest]>([
    ['a complete spec', request(memcached({ replicas: 1, image: 'a:1', memcached: complete() }))],
    ['an update of metadata', request(memcached({ replicas: 1 }), memcached({ replicas: 1 }))],
    ['what the schema will refuse', request(memcached({ replicas: 'x' }))],
    ['no spec', request(memcached(undefined))],
    ['a deletion', request(undefined, memcached({}), { operation: 'DELETE' })],
    ['a Scale', request({ metadata: {}, spec: { replicas: 2 } }, {}, { subResource: 'scale' })],
    ['a status', request(memcached({}), memcached({ replicas: 2 }), { subResource: 'status' })],
    ['something else', request({}, undefined, { resource: { group: '', resource: 'pods' } })],
  ])('leaves %s alone', ([, asked]) => {
    expect(mutate(asked, {})).toEqual({ allowed: true });
  });
});

function complete() {
  return { maxMemoryMB: 64, maxConnections: 1024, threads: 4, maxItemSize: '1m', verbosity: 0, extraArgs: [] };
}

describe('validation', () => {
  const wrong = { ...LIMITED, security: { sasl: { enabled: true } }, memcached: { maxItemSize: '700k' } };

  test('says everything that is wrong, as the API server would', async () => {
    const causes = [
      {
        reason: 'FieldValueInvalid',
        message:
          'Invalid value: "700k": maxItemSize must be a multiple of 512k between 512k and 32m (half of maxMemoryMB)',
        field: 'spec.memcached.maxItemSize',
      },
      {
        reason: 'FieldValueRequired',
        message: 'Required value: credentialsSecretRef.name is required when SASL is enabled',
        field: 'spec.security.sasl.credentialsSecretRef.name',
      },
    ];
    expect(await validateRequest(request(memcached(wrong)), nobody)).toEqual({
      allowed: false,
      status: {
        kind: 'Status',
        status: 'Failure',
        message: `Memcached.memcached.c5c3.io "my-cache" is invalid: [${causes.map((cause) => `${cause.field}: ${cause.message}`).join(', ')}]`,
        reason: 'Invalid',
        details: { name: 'my-cache', group: 'memcached.c5c3.io', kind: 'Memcached', causes },
        code: 422,
      },
    });
  });

  test('warns', async () => {
    expect(await validateRequest(request(memcached({ ...LIMITED, memcached: { verbosity: 2 } })), nobody)).toEqual({
      allowed: true,
      warnings: [expect.stringMatching(/^spec.memcached.verbosity: /)],
    });
    expect(await validateRequest(request(memcached(LIMITED)), nobody)).toEqual({ allowed: true });
  });

  test('an update of metadata is allowed whatever the spec is, any other is looked at', async () => {
    for (const spec of [wrong, {}, { replicas: 'x' }]) {
      const labelled = { ...memcached(spec), metadata: { name: 'my-cache', labels: { team: 'a' } } };
      expect(await validateRequest(request(labelled, memcached(structuredClone(spec))), nobody)).toEqual({
        allowed: true,
      });
    }
    expect(
      await validateRequest(request(memcached({ ...wrong, replicas: 2 }), memcached(wrong)), nobody),
    ).toMatchObject({
      allowed: false,
    });
  });

  test.for([
    [undefined, { operation: 'DELETE' }],
    [memcached(wrong), { subResource: 'status' }],
    [memcached(wrong), { operation: 'CONNECT' }],
    [{}, { resource: { group: 'apps', resource: 'deployments' } }],
  ] as const)('what is not its concern is allowed: %j', async ([object, more]) => {
    expect(await validateRequest(request(object, undefined, more), nobody)).toEqual({ allowed: true });
  });

  describe('scale', () => {
    const budget = { podDisruptionBudget: { enabled: true, minAvailable: 2 } };
    const stored = memcached({ ...LIMITED, replicas: 3, highAvailability: budget });
    const scale = (replicas?: number) =>
      request({ kind: 'Scale', metadata: { name: 'my-cache' }, spec: { replicas } }, {}, { subResource: 'scale' });
    const find = (found: Memcached | undefined) => (namespace: string, name: string) => {
      expect([namespace, name]).toEqual(['default', 'my-cache']);
      return Promise.resolve(found);
    };

    test('is held to the same rules', async () => {
      expect(await validateRequest(scale(4), find(stored))).toEqual({ allowed: true });
      expect(await validateRequest(scale(0), find(stored))).toEqual({ allowed: true });
      expect(await validateRequest(scale(undefined), find(stored))).toEqual({ allowed: true });
      expect(await validateRequest(scale(3), find(stored))).toEqual({ allowed: true });
      const tooFew = await validateRequest(scale(2), find(stored));
      expect(tooFew.status?.details?.causes).toMatchObject([
        { message: 'Invalid value: 2: minAvailable (2) must be less than replicas (2)' },
      ]);
    });

    test('is not for what scales itself', async () => {
      const autoscaling = { enabled: true, maxReplicas: 5 };
      const resources = { requests: { cpu: 1 } };
      const verdict = await validateRequest(scale(4), find(memcached({ resources, autoscaling })));
      expect(verdict.status?.message).toContain('spec.replicas and spec.autoscaling.enabled are mutually exclusive');
    });

    test('of what is gone is left to the API server', async () => {
      expect(await validateRequest(scale(4), find(undefined))).toEqual({ allowed: true });
    });
  });

  test('no more is said than anybody reads', async () => {
    const podLabels = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [`-${'x'.repeat(2000)}${index}`, '']),
    );
    const { status } = await validateRequest(request(memcached({ podLabels })), nobody);
    expect(status?.details?.causes).toHaveLength(100);
    expect(JSON.stringify(status).length).toBeLessThan(200_000);
  });
});
