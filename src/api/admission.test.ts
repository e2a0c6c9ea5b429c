import fc from 'fast-check';
import { expect, test } from 'vitest';
import { admitted } from './admission.ts';
import { type Memcached, type MemcachedSpec, memcachedKind } from './memcached.ts';
import { randomMemcached } from './random-memcached.ts';

function memcached(spec: MemcachedSpec, replicas?: number): Memcached {
  const { apiVersion, kind } = memcachedKind;
  return {
    apiVersion,
    kind,
    metadata: { name: 'my-cache' },
    spec,
    ...(replicas !== undefined && { status: { replicas } }),
  };
}

const scales = { autoscaling: { enabled: true, maxReplicas: 9 } };

test.for<[what: string, spec: MemcachedSpec, old: Memcached | undefined, replicas: number | undefined]>([
  ['new', {}, undefined, 1],
  ['new, with replicas', { replicas: 3 }, undefined, 3],
  ['new, scaling', scales, undefined, undefined],
  ['new, scaling, with replicas: for validation to refuse', { ...scales, replicas: 3 }, undefined, 3],
  ['switched on', { ...scales, replicas: 3 }, memcached({ replicas: 3 }, 3), undefined],
  ['switched on, with other replicas', { ...scales, replicas: 4 }, memcached({ replicas: 3 }, 3), 4],
  ['scaling, with replicas added', { ...scales, replicas: 4 }, memcached(scales, 3), 4],
  ['switched off', {}, memcached(scales, 7), 7],
  ['switched off by its flag', { autoscaling: { enabled: false } }, memcached(scales, 7), 7],
  ['switched off, with replicas', { replicas: 2 }, memcached(scales, 7), 2],
  ['switched off before anyone counted', {}, memcached(scales, 0), 1],
  ['replicas removed', {}, memcached({ replicas: 5 }, 5), 1],
])('%s', ([, spec, old, replicas]) => {
  expect(admitted(memcached(spec), old).spec.replicas).toBe(replicas);
});

test('an update of metadata alone leaves the spec as it is', () => {
  for (const spec of [{}, { ...scales, replicas: 3 }, { memcached: { maxItemSize: '700k' } }]) {
    const changed = memcached(spec);
    expect(admitted(changed, memcached(structuredClone(spec), 7))).toBe(changed);
  }
});

test('what the API server will refuse for its structure is left to it', () => {
  for (const spec of ['x', null, { replicas: 'x' }, { memcached: 5 }, { autoscaling: { enabled: true, metrics: 1 } }]) {
    const wrong = memcached(spec as MemcachedSpec);
    expect(admitted(wrong, undefined)).toBe(wrong);
  }
});

test('twice is the same as once, whatever was there before', () => {
  fc.assert(
    fc.property(randomMemcached, fc.option(randomMemcached, { nil: undefined }), (random, old) => {
      const once = admitted(random, old);
      expect(admitted(once, old)).toEqual(once);
    }),
  );
});

test('plain defaults are stored', () => {
  expect(admitted(memcached({}), undefined, { image: 'registry.example/memcached:1' }).spec).toMatchObject({
    image: 'registry.example/memcached:1',
    memcached: { maxMemoryMB: 64 },
  });
});
