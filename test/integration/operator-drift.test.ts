/** What becomes of changes by other hands: ours is restored, theirs is respected. */
import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { type Memcached, memcachedKind, withDefaults } from '../../src/api/index.ts';
import { autoscalerKind } from '../../src/children/autoscaler.ts';
import { endpointSliceKind } from '../../src/children/endpoint-slice.ts';
import { children, deploymentKind } from '../../src/children/index.ts';
import { serviceKind } from '../../src/children/service.ts';
import type { Kind, KubernetesObject } from '../../src/kubernetes/object.ts';
import { ApiError } from '../../src/runtime/client/index.ts';
import {
  change,
  conditions,
  createReady,
  eventsOf,
  find,
  getMemcached,
  getService,
  isReady,
  memcached,
  message,
  NAMESPACE,
  ownPart,
  stage,
  until,
  withoutRecords,
} from '../support/memcacheds.ts';
import { installServiceMonitors } from '../support/service-monitors.ts';

const at = stage({ name: 'test-drift', form: 'fake', fakeNodes: 3 });

beforeAll(() => installServiceMonitors(at.cluster, at.signal));

afterEach(() => at.operator.assertAlive());

/** A spec that makes the operator set as much as it can. */
const RICH = {
  replicas: 2,
  resources: { requests: { cpu: '0.25', memory: '96Mi' }, limits: { cpu: '1000m', memory: '0.5Gi' } },
  memcached: { verbosity: 1, extraArgs: ['-o', 'modern'] },
  service: { annotations: { 'example.org/team': 'caches' } },
  podLabels: { team: 'caches' },
  monitoring: { enabled: true, exporterResources: { requests: { cpu: '50m' } } },
  highAvailability: { podDisruptionBudget: { enabled: true, minAvailable: 1 } },
  networkPolicy: { enabled: true, allowedSources: [{ podSelector: { matchLabels: { app: 'client' } } }] },
};
const { replicas: _replicas, ...SCALING } = { ...RICH, autoscaling: { enabled: true, minReplicas: 2, maxReplicas: 5 } };

type Path = readonly (string | number)[];

/** The paths of everything in it that has no parts. */
function leaves(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return entries.flatMap(([name, item]: [string | number, unknown]) => leaves(item, [...path, name]));
}

/** The paths of everything that contains something, but for the object itself, its metadata and its spec. */
function branches(paths: readonly Path[]): Path[] {
  const found = paths.flatMap((path) => path.slice(1).map((_, index) => path.slice(0, index + 1)));
  const named = new Map(found.map((path) => [pointer(path), path]));
  for (const whole of ['/metadata', '/spec']) named.delete(whole);
  return [...named.values()];
}

function pointer(path: Path): string {
  return path.map((name) => `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** Another value of the same form. */
function another(value: unknown, path: Path): unknown {
  if (typeof value === 'boolean') return !value;
  const last = path.at(-1);
  if (typeof value === 'number') return last === 'weight' ? value - 1 : value + 1;
  if (last === 'cpu') return '300m'; // between request and limit
  if (last === 'memory') return '123Mi';
  if (last === 'terminationMessagePolicy') return 'File';
  if (last === 'protocol') return 'UDP';
  if (path.at(-2) === 'seccompProfile') return 'Unconfined';
  if (path.at(-2) === 'addresses') return '203.0.113.1';
  return `${String(value)}x`;
}

type Operation = { readonly op: string; readonly path: string; readonly value?: unknown };

interface Meddling {
  readonly restored: number;
  /** The server put the same value back itself. */
  readonly without: string[];
  readonly refused: string[];
  /** What we set is back, and something of the change is still there. */
  readonly remains: string[];
  /** Never restored, and what the status says. */
  readonly lost: string[];
  readonly slowest: { readonly ms: number; readonly what: string };
}

/** Does each of the changes by itself, and waits until all that we set is again what it was. */
async function meddle(kind: Kind, name: string, operations: readonly Operation[], signal: AbortSignal) {
  const look = () => at.client.get<KubernetesObject>(kind, name, NAMESPACE);
  const settled = await look();
  const found = { restored: 0, without: [], refused: [], remains: [], lost: [], slowest: { ms: 0, what: '' } };
  const result: { -readonly [Name in keyof Meddling]: Meddling[Name] } = found;
  for (const operation of operations) {
    const what = `${operation.op} ${operation.path}`;
    const outcome = await meddleOnce(kind, name, operation);
    if (outcome !== 'changed') {
      result[outcome].push(what);
      continue;
    }
    const isBack = (seen: KubernetesObject) => isDeepStrictEqual(ownPart(seen), ownPart(settled));
    try {
      const { ms, value } = await until(at, what, look, isBack, signal, 60_000);
      result.restored += 1;
      if (ms > result.slowest.ms) result.slowest = { ms, what };
      if (isDeepStrictEqual(stable(value), stable(settled))) continue;
      result.remains.push(what);
    } catch {
      signal.throwIfAborted();
      result.lost.push(`${what}: ${message(await getMemcached(at, name), 'Degraded')}`);
    }
    await at.client.delete(kind, name, NAMESPACE); // so that the next change starts from a good state
    await until(
      at,
      'made anew',
      () => find(at, kind, name),
      (seen) => seen !== undefined,
      signal,
    );
  }
  return result;
}

async function meddleOnce(kind: Kind, name: string, operation: Operation): Promise<'changed' | 'without' | 'refused'> {
  const { resourceVersion } = (await at.client.get(kind, name, NAMESPACE)).metadata;
  try {
    const changed = await at.client.patch(kind, name, NAMESPACE, { type: 'json', body: [operation] });
    return changed.metadata.resourceVersion === resourceVersion ? 'without' : 'changed';
  } catch (error) {
    if (error instanceof ApiError && error.status === 422) return 'refused';
    throw error;
  }
}

/** Without what others write into it all the time. */
function stable(object: KubernetesObject): unknown {
  const { metadata, ...rest } = withoutRecords(object);
  const { 'deployment.kubernetes.io/revision': _, ...annotations } = metadata.annotations ?? {};
  const { uid: _u, creationTimestamp: _c, ...kept } = metadata;
  return { ...rest, metadata: { ...kept, annotations } };
}

function print(kind: Kind, { restored, without, refused, remains, lost, slowest }: Meddling): void {
  const list = (what: readonly string[]) => what.join(', ') || 'none';
  console.log(`${kind.kind}: ${restored} changes restored, the slowest after ${Math.round(slowest.ms)} ms (${slowest.what})
without effect: ${list(without)}
refused by the server: ${list(refused)}
something remains: ${list(remains)}
lost: ${lost.join('\n  ') || 'none'}`);
}

const kinds = children.map(
  ({ kind, build }) => [kind.kind, kind, build, kind === autoscalerKind ? SCALING : RICH] as const,
);

function isOfIdentity([first, second]: Path): boolean {
  return first === 'apiVersion' || first === 'kind' || second === 'name' || second === 'namespace';
}

/** Changing these makes the object somebody else's: a story of its own. */
function isOfOwner(path: Path): boolean {
  return path[1] === 'ownerReferences' && path[3] !== 'blockOwnerDeletion';
}

/** With a single server there is no question who gets which name, should all names be lost. */
const SINGLE = { ...RICH, replicas: 1, highAvailability: {} };

for (const [title, kind, build, spec] of kinds) {
  test(`every field that we set in a ${title} is restored, changed or removed`, { timeout: 600_000 }, async ({
    signal,
  }) => {
    const name = `fields-${title.toLowerCase()}`;
    const { value } = await createReady(at, memcached(name, kind === endpointSliceKind ? SINGLE : spec), signal);
    const look = () => find<KubernetesObject>(at, kind, name);
    const { value: made } = await until(at, 'it is there', look, (seen) => seen !== undefined, signal);
    // What follows from the pods cannot be told from the Memcached alone.
    const desired = build(withDefaults(value), {}) ?? (made && ownPart(made));
    const paths = leaves(desired).filter((path) => !isOfIdentity(path) && !isOfOwner(path));
    const valueAt = (path: Path) =>
      path.reduce<unknown>((from, part) => (from as Record<string | number, unknown>)[part], desired);
    const operations = [
      ...paths.map((path) => ({ op: 'replace', path: pointer(path), value: another(valueAt(path), path) })),
      ...[...paths, ...branches(paths).filter((path) => !isOfOwner(path))].map((path) => ({
        op: 'remove',
        path: pointer(path),
      })),
    ];
    const result = await meddle(kind, name, operations, signal);
    print(kind, result);
    expect(result.restored).toBeGreaterThan(10);
    expect(result.lost).toEqual([]);
    // A container by another name is a container of somebody else: ours comes back beside it.
    const renamed = [0, 1].map((index) => `replace /spec/template/spec/containers/${index}/name`);
    expect(result.remains).toEqual(title === 'Deployment' ? renamed : []);
  });
}

test.for(kinds)('a deleted %s is made anew', async ([title, kind, , spec], { signal }) => {
  const name = `gone-${title.toLowerCase()}`;
  const { status } = (await createReady(at, memcached(name, spec), signal)).value;
  const times: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    const before = await at.client.get(kind, name, NAMESPACE);
    await at.client.delete(kind, name, NAMESPACE, { propagationPolicy: 'Background' });
    const isNew = (seen: KubernetesObject | undefined) =>
      seen !== undefined && seen.metadata.uid !== before.metadata.uid;
    times.push((await until(at, `${name} is back`, () => find(at, kind, name), isNew, signal)).ms);
  }
  console.log(`${title} is back after ${times.map(Math.round).join(', ')} ms`);
  const { value } = await until(at, 'all is well', () => getMemcached(at, name), isReady, signal);
  expect(value.status?.readyReplicas).toBe(status?.readyReplicas);
});

interface Spec {
  readonly template: KubernetesObject & { spec: { containers: { args: string[] }[] } };
}

test('what others add stays, whatever we change', async ({ signal }) => {
  await createReady(at, memcached('guests', { replicas: 2 }), signal);
  await at.cluster.kubectl(['label', 'deployment/guests', 'service/guests', 'team=blue']);
  await at.cluster.kubectl(['annotate', 'deployment/guests', 'service/guests', 'note=hello']);
  await at.cluster.kubectl(['rollout', 'restart', 'deployment/guests']);
  await at.cluster.kubectl(['set', 'env', 'deployment/guests', 'ADDED=1']);
  const sidecar = { name: 'sidecar', image: 'busybox:1' };
  await at.client.patch(deploymentKind, 'guests', NAMESPACE, {
    type: 'json',
    body: [
      { op: 'add', path: '/spec/template/spec/containers/-', value: sidecar },
      { op: 'add', path: '/spec/template/metadata/labels/mesh', value: 'on' },
      { op: 'add', path: '/spec/minReadySeconds', value: 1 },
    ],
  });
  const changed = { replicas: 3, memcached: { maxMemoryMB: 100 }, service: { annotations: { ours: 'too' } } };
  await change(at, 'guests', { spec: changed });
  await until(at, 'all is well', () => getMemcached(at, 'guests'), isReady, signal);

  const { metadata, spec } = await at.client.get<KubernetesObject & { spec: Spec }>(
    deploymentKind,
    'guests',
    NAMESPACE,
  );
  expect(metadata.labels).toMatchObject({ team: 'blue' });
  expect(metadata.annotations).toMatchObject({ note: 'hello' });
  expect(spec).toMatchObject({ replicas: 3, minReadySeconds: 1 });
  const { metadata: podMetadata, spec: podSpec } = spec.template;
  expect(podMetadata.annotations).toHaveProperty(['kubectl.kubernetes.io/restartedAt']);
  expect(podMetadata.labels).toMatchObject({ mesh: 'on' });
  expect(podSpec.containers).toMatchObject([{ name: 'memcached', env: [{ name: 'ADDED', value: '1' }] }, sidecar]);
  expect(podSpec.containers[0]?.args).toContain('100');
  const service = await getService(at, 'guests');
  expect(service.metadata.labels).toMatchObject({ team: 'blue' });
  expect(service.metadata.annotations).toMatchObject({ note: 'hello', ours: 'too' });

  await change(at, 'guests', { spec: { service: null } });
  const annotations = async () => (await getService(at, 'guests')).metadata.annotations;
  await until(at, 'what we no longer want goes', annotations, (seen) => seen?.['ours'] === undefined, signal);
  expect(await annotations()).toEqual({ note: 'hello' });
});

const foreign = {
  Service: (name: string, labels = {}) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: NAMESPACE, labels },
    spec: { ports: [{ port: 80 }], selector: { app: 'theirs' } },
  }),
  Deployment: (name: string, labels = {}) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: NAMESPACE, labels },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: 'theirs' } },
      template: {
        metadata: { labels: { app: 'theirs' } },
        spec: { containers: [{ name: 'memcached', image: 'theirs:1' }] },
      },
    },
  }),
};

function isInConflict(seen: Memcached): boolean {
  return conditions(seen)['Degraded'] === 'True/ResourceConflict';
}

test.for([
  ['unlabelled', 'Deployment', deploymentKind, {}],
  ['unlabelled', 'Service', serviceKind, {}],
  ['labelled', 'Deployment', deploymentKind, { 'app.kubernetes.io/managed-by': 'memcached-operator' }],
  ['labelled', 'Service', serviceKind, { 'app.kubernetes.io/managed-by': 'memcached-operator' }],
] as const)(
  '%s %s of somebody else: untouched, reported, and replaced once it is gone',
  async ([form, title, kind, labels], { signal }) => {
    const name = `taken-${form}-${title.toLowerCase()}`;
    const theirs = await at.client.create<KubernetesObject>(kind, foreign[title](name, labels));
    await at.client.create(memcachedKind, memcached(name));
    const { value } = await until(at, 'it is told', () => getMemcached(at, name), isInConflict, signal);
    expect(message(value, 'Degraded')).toContain(`${title} ${name}`);
    expect(conditions(value)).toMatchObject({ Ready: 'False/ResourceConflict' });
    const other = title === 'Service' ? deploymentKind : serviceKind;
    await until(at, 'the other child is there', () => find(at, other, name), Boolean, signal);
    const now = await at.client.get(kind, name, NAMESPACE);
    expect(stable(now)).toEqual(stable(theirs));
    const warnings = async () => (await eventsOf(at, name)).filter((event) => event.startsWith('ResourceConflict: '));
    const events = await until(at, 'an event tells it', warnings, ({ length }) => length > 0, signal);
    expect(events.value).toEqual([expect.stringContaining(`${title} ${name}`)]);

    await at.client.delete(kind, name, NAMESPACE);
    const { ms } = await until(at, 'it is taken up', () => getMemcached(at, name), isReady, signal);
    console.log(`${title} (${form}): ready ${Math.round(ms)} ms after the name was free`);
    expect((await at.client.get(kind, name, NAMESPACE)).metadata.ownerReferences?.[0]?.uid).toBe(value.metadata.uid);
  },
);

test('whoever comes first in a race keeps the name', async ({ signal }) => {
  const names = Array.from({ length: 60 }, (_, index) => `race-${index}`);
  const races = await Promise.all(
    names.map(async (name, index) => {
      const title = index % 2 === 0 ? 'Service' : 'Deployment';
      const kind = index % 2 === 0 ? serviceKind : deploymentKind;
      await at.client.create(memcachedKind, memcached(name, { replicas: 0 }));
      if (index % 3 === 0) await new Promise((resolve) => setTimeout(resolve, index));
      const theirs = await at.client.create<KubernetesObject>(kind, foreign[title](name)).catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 409) return undefined;
        throw error;
      });
      const isRight = theirs ? isInConflict : isReady;
      await until(at, `${name} is told`, () => getMemcached(at, name), isRight, signal);
      const now = await at.client.get<KubernetesObject>(kind, name, NAMESPACE);
      const isKept = isDeepStrictEqual(stable(now), stable(theirs ?? now));
      return { isOurs: theirs === undefined, isKept };
    }),
  );
  const won = races.filter(({ isOurs }) => isOurs).length;
  console.log(`of ${names.length} races we won ${won} and lost ${names.length - won}`);
  expect(races.filter(({ isKept }) => !isKept)).toEqual([]);
});

test.for(kinds)('a %s that loses all its labels is found again', async ([title, kind, , spec], { signal }) => {
  const name = `labels-${title.toLowerCase()}`;
  await createReady(at, memcached(name, spec), signal);
  const before = await at.client.get(kind, name, NAMESPACE);
  await at.client.patch(kind, name, NAMESPACE, { type: 'json', body: [{ op: 'remove', path: '/metadata/labels' }] });
  const look = () => at.client.get(kind, name, NAMESPACE);
  const isBack = (seen: KubernetesObject) => isDeepStrictEqual(seen.metadata.labels, before.metadata.labels);
  const { value, ms } = await until(at, 'the labels are back', look, isBack, signal);
  console.log(`${title}: labels are back after ${Math.round(ms)} ms`);
  expect(value.metadata.uid).toBe(before.metadata.uid);
  await until(at, 'all is well', () => getMemcached(at, name), isReady, signal);
});

test.for(kinds)('a %s without our ownerReference is no longer ours', async ([title, kind, , spec], { signal }) => {
  const name = `disowned-${title.toLowerCase()}`;
  await createReady(at, memcached(name, spec), signal);
  const body = [{ op: 'remove', path: '/metadata/ownerReferences' }];
  const disowned = await at.client.patch<KubernetesObject>(kind, name, NAMESPACE, { type: 'json', body });
  const { value } = await until(at, 'it is told', () => getMemcached(at, name), isInConflict, signal);
  expect(message(value, 'Degraded')).toContain(`${title} ${name}`);
  await change(at, name, { spec: { memcached: { maxMemoryMB: 99 }, service: { annotations: { a: 'b' } } } });
  const isTold = (seen: Memcached) => isInConflict(seen) && seen.status?.conditions?.[0]?.observedGeneration === 2;
  await until(at, 'it is told again', () => getMemcached(at, name), isTold, signal);
  expect(stable(await at.client.get(kind, name, NAMESPACE))).toEqual(stable(disowned));
});
