import { expect, test } from 'vitest';
import type { Memcached } from '../api/index.ts';
import { example } from '../children/example.ts';
import { children, deploymentKind, type Surroundings } from '../children/index.ts';
import { serviceKind } from '../children/service.ts';
import { type Builder, builderFor, fingerprintsOf, Wishes } from './wishes.ts';

const server = { slot: 0, pod: 'my-cache-x', address: '10.0.0.1', isReady: true, isDeleting: false };
const stored: Memcached = example({ monitoring: { enabled: true } });

test('fingerprints are those of the children that are wanted', () => {
  const wishes = new Wishes({});
  for (const surroundings of [{}, { servers: [server] }, {}])
    expect(wishes.fingerprints(stored, surroundings)).toEqual(
      fingerprintsOf(builderFor(wishes.wanted(stored), surroundings)),
    );
});

test('nothing is computed twice', () => {
  const wishes = new Wishes({});
  const first = wishes.fingerprints(stored, { servers: [server] });
  const later = { ...stored, metadata: { ...stored.metadata, resourceVersion: '2' }, status: { replicas: 1 } };
  expect(wishes.fingerprints(later, { servers: [{ ...server }] })).toBe(first);
  expect(wishes.wanted(later)).toMatchObject({ status: { replicas: 1 } });
  expect(wishes.wanted(later).spec).toBe(wishes.wanted(stored).spec);
});

test.each<[string, Memcached]>([
  ['spec', { ...stored, spec: { ...stored.spec, image: 'memcached:1.6.45' } }],
  [
    'restart',
    { ...stored, metadata: { ...stored.metadata, annotations: { 'memcached.c5c3.io/restart-trigger': '1' } } },
  ],
  ['uid', { ...stored, metadata: { ...stored.metadata, uid: 'another' } }],
])('what has changed counts: %s', (_, changed) => {
  const wishes = new Wishes({});
  const before = wishes.fingerprints(stored, {});
  const after = wishes.fingerprints(changed, {});
  expect(after.get(deploymentKind)).not.toBe(before.get(deploymentKind));
  expect(after).toEqual(fingerprintsOf(builderFor(wishes.wanted(changed), {})));
});

test('what is around counts', () => {
  const wishes = new Wishes({});
  const alone = wishes.fingerprints(stored, {});
  expect(wishes.fingerprints(stored, { servers: [server] }).size).toBe(alone.size + 1);
  expect(wishes.fingerprints(stored, {}).get(serviceKind)).toBe(alone.get(serviceKind));
});

test('faults are those of the spec, and the default image is the one that was set', () => {
  const wishes = new Wishes({ image: 'registry.example.org/memcached:1' });
  const { image: _, ...spec } = stored.spec;
  expect(wishes.wanted({ ...stored, spec }).spec.image).toBe('registry.example.org/memcached:1');
  expect(wishes.faults(stored)).toEqual([]);
  const wrong = { ...stored, spec: { ...spec, memcached: { extraArgs: ['--daemon'] } } };
  expect(wishes.faults(wrong)).toMatchObject([{ reason: 'InvalidSpec' }]);
});

test('when pods come and go, only what follows them is built anew', () => {
  const wishes = new Wishes({});
  const builtFor = (surroundings: Surroundings) => {
    const kinds: string[] = [];
    const all = builderFor(wishes.wanted(stored), surroundings);
    const build: Builder = (child) => {
      kinds.push(child.kind.kind);
      return all(child);
    };
    expect(wishes.fingerprints(stored, surroundings, { build })).toEqual(fingerprintsOf(all));
    return kinds;
  };
  expect(builtFor({})).toHaveLength(children.length);
  expect(builtFor({ servers: [server] })).toEqual(['EndpointSlice']);
  expect(builtFor({ servers: [server] })).toEqual([]);
  expect(builtFor({ servers: [] })).toEqual(['EndpointSlice']);
  expect(builtFor({ servers: [], operator: { namespace: 'elsewhere', labels: {} } })).toHaveLength(children.length);
});

test('a child is built once', () => {
  const build = builderFor(new Wishes({}).wanted(stored), {});
  for (const child of children) expect(build(child)).toBe(build(child));
});

test('what stays as it is need not be computable', () => {
  const secured = example({ security: { tls: { enabled: true, certificateSecretRef: { name: 'missing' } } } });
  const wishes = new Wishes({});
  expect(() => wishes.fingerprints(secured, {})).toThrow('nothing is known of the certificate');
  const rest = wishes.fingerprints(secured, {}, { staying: [deploymentKind] });
  expect([...rest.keys()]).not.toContain(deploymentKind);
  expect(rest.size).toBeGreaterThan(0);
});
