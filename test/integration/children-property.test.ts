/**
 * Random specs on a real API server. What we want of every child passes strict validation, is stored with the fingerprint that
 * we want, and is not changed by a second apply; and what goes from the spec goes from the child, without a trace.
 */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chosenRelease, releases } from '../../devcluster/kubernetes.ts';
import { type Memcached, type MemcachedSpec, memcachedKind, validate, withDefaults } from '../../src/api/index.ts';
import { randomValidMemcached } from '../../src/api/random-memcached.ts';
import type { Schema } from '../../src/api/schema/json-schema.ts';
import { specSchema } from '../../src/api/schema/spec.ts';
import { children, MANAGED_BY, type Surroundings } from '../../src/children/index.ts';
import { randomSurroundings } from '../../src/children/random-surroundings.ts';
import { observedFingerprint, wantedFingerprint } from '../../src/controller/fingerprint.ts';
import type { Kind, KubernetesObject } from '../../src/kubernetes/object.ts';
import { ApiError, type Client, isNotFound } from '../../src/runtime/client/index.ts';
import { startCluster, stopCluster, type TestCluster } from '../support/cluster.ts';
import { administrator, memcached, NAMESPACE } from '../support/memcacheds.ts';
import { installOperator } from '../support/operator.ts';
import { installServiceMonitors } from '../support/service-monitors.ts';

const CLUSTER = { name: 'test-random', form: 'none' } as const;
const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
const COUNT = 300;
const NAME = 'random';
/** Where nothing ever exists, so that the server makes every object anew. */
const EMPTY = 'empty';

const { signal } = new AbortController();
let cluster: TestCluster;
let client: Client;

beforeAll(async () => {
  await stopCluster(CLUSTER);
  cluster = await startCluster(CLUSTER);
  await installOperator(cluster, signal);
  await installServiceMonitors(cluster, signal);
  await cluster.kubectl(['create', 'quota', 'none', '--hard=pods=0']); // nobody needs the pods
  await cluster.kubectl(['create', 'namespace', EMPTY]);
  client = await administrator(cluster);
});

afterAll(async () => {
  await client?.close();
  await stopCluster(CLUSTER);
});

interface Stored {
  readonly what: 'another fingerprint' | 'another version' | 'a trace' | undefined;
  readonly spec: MemcachedSpec;
  readonly desired: KubernetesObject;
  readonly stored: KubernetesObject;
  /** What the server makes of it where there was nothing before. */
  readonly fresh?: KubernetesObject | undefined;
}

function apply(kind: Kind, desired: KubernetesObject): Promise<KubernetesObject> {
  return client.apply<KubernetesObject>(kind, desired, { fieldManager: MANAGED_BY, force: true });
}

/** Makes the children be as the spec wants them, over whatever they were before. Tells of those that were not yet so. */
async function carryOut(
  from: Memcached,
  surroundings: Surroundings,
  before: readonly Stored[] = [],
): Promise<Stored[]> {
  const results: Stored[] = [];
  for (const { kind, build } of children) {
    const desired = build(withDefaults(from), surroundings);
    if (before.some((one) => isDeepStrictEqual(one.desired, desired))) continue;
    if (!desired) {
      await client.delete(kind, NAME, NAMESPACE).catch(unlessNotFound);
      continue;
    }
    const stored = await apply(kind, desired);
    const isSame = await isStable(kind, desired, stored);
    const isAsWanted = observedFingerprint(stored, MANAGED_BY) === wantedFingerprint(desired);
    const what = isAsWanted ? (isSame ? undefined : 'another version') : 'another fingerprint';
    results.push({ what, spec: from.spec, desired, stored });
  }
  return results;
}

/** Whether applying the same once more changes nothing. Now and then somebody else, who is still busy with it, does. */
async function isStable(kind: Kind, desired: KubernetesObject, stored: KubernetesObject): Promise<boolean> {
  let { resourceVersion } = stored.metadata;
  for (let attempt = 0; attempt < 10; attempt += 1) {
    const again = await apply(kind, desired);
    if (again.metadata.resourceVersion === resourceVersion) return true;
    ({ resourceVersion } = again.metadata);
    await sleep(100);
  }
  return false;
}

function unlessNotFound(error: unknown): void {
  if (!isNotFound(error)) throw error;
}

/** Without one of its fields, chosen by a number; it is still valid. */
function reduced(from: Memcached, choice: number): Memcached {
  const paths = pathsOf(specSchema, from.spec);
  for (const offset of paths.keys()) {
    const copy = structuredClone(from);
    remove(copy.spec, paths[(choice + offset) % paths.length] ?? []);
    if (validate(copy).length === 0) return copy;
  }
  return from;
}

/** Everything that a Memcached may do without. Of Kubernetes' own types only what is at the top: inside them, parts need each other. */
function pathsOf(schema: Schema, value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => {
    const inner = schema.properties?.[name] ?? schema.additionalProperties;
    return [[name], ...(inner ? pathsOf(inner, part).map((rest) => [name, ...rest]) : [])];
  });
}

function remove(from: unknown, [name = '', ...rest]: readonly string[]): void {
  const object = from as Record<string, unknown>;
  if (rest.length > 0) remove(object[name], rest);
  else if (Array.isArray(object)) object.splice(Number(name), 1);
  else delete object[name];
}

/** Fields that an old server drops, or refuses. Then nothing is compared that it could not store. */
const LATER = chosenRelease() === releases.oldest ? ['supplementalGroupsPolicy', 'tolerance'] : [];

function known(spec: MemcachedSpec): MemcachedSpec {
  return JSON.parse(JSON.stringify(spec), (name, value: unknown) =>
    LATER.includes(name) ? undefined : value,
  ) as MemcachedSpec;
}

/** What the server would make of these if there were nothing yet, under strict validation. */
async function anew(objects: readonly KubernetesObject[]): Promise<KubernetesObject[]> {
  const flags = ['--server-side', '--dry-run=server', '--validate=strict', `--field-manager=${MANAGED_BY}`];
  const answers: KubernetesObject[] = [];
  for (let from = 0; from < objects.length; from += 100) {
    const items = objects
      .slice(from, from + 100)
      .map((object) => ({ ...object, metadata: { ...object.metadata, namespace: EMPTY } }));
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    const answer = await cluster.kubectl(['apply', ...flags, '-o', 'json', '-f', '-'], { input });
    const parsed = JSON.parse(answer) as KubernetesObject & { readonly items?: readonly KubernetesObject[] };
    answers.push(...(parsed.items ?? [parsed]));
  }
  return answers;
}

interface Content extends KubernetesObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly template?: { readonly spec: { readonly containers: readonly { readonly imagePullPolicy?: string }[] } };
  };
  /** Of an EndpointSlice. */
  readonly ports?: unknown;
  readonly endpoints?: unknown;
}

/** All that is said of it, but for what others decide once and for all, or again and again. */
function content(object: KubernetesObject, desired: KubernetesObject): unknown {
  const { metadata, spec = {}, ports, endpoints } = structuredClone(object) as Content;
  const { 'deployment.kubernetes.io/revision': _, ...annotations } = metadata.annotations ?? {};
  const { replicas: _replicas, ...rest } = spec;
  // By the first image that the container has ever had.
  for (const container of rest.template?.spec.containers ?? []) Reflect.deleteProperty(container, 'imagePullPolicy');
  // Where we leave it open, the autoscaler's.
  const isOurs = (desired as Content).spec?.replicas !== undefined;
  return { labels: metadata.labels, annotations, spec: isOurs ? spec : rest, ports, endpoints };
}

test(`${COUNT} random specs`, { timeout: 900_000 }, async () => {
  console.log(`seed ${SEED} (SEED=${SEED} does it again)`);
  await client.create(memcachedKind, memcached(NAME));
  const random = fc.tuple(randomValidMemcached, randomSurroundings, fc.nat());
  const refused: string[] = [];
  const whole: Stored[] = [];
  const rest: Stored[] = [];
  let done = 0;
  for (const [{ spec }, surroundings, choice] of fc.sample(random, { seed: SEED, numRuns: 2 * COUNT })) {
    if (done === COUNT) break;
    const body = [{ op: 'replace', path: '/spec', value: known(spec) }];
    try {
      const stored = await client.patch<Memcached>(memcachedKind, NAME, NAMESPACE, { type: 'json', body });
      const before = await carryOut(stored, surroundings);
      whole.push(...before);
      rest.push(...(await carryOut(reduced(stored, choice), surroundings, before)));
      done += 1;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      refused.push(error.message); // the server knows Kubernetes' own types better than we do
    }
  }
  console.log(
    `${done} specs; ${rest.length} children change when a field is taken away; ${refused.length} were refused`,
  );
  console.log(
    refused
      .slice(0, 5)
      .map((one) => `  ${one.slice(0, 300)}`)
      .join('\n'),
  );

  const fresh = await anew([...whole, ...rest].map(({ desired }) => desired));
  console.log(`${fresh.length} objects passed strict validation: ${counted(fresh)}`);
  const traces = rest.flatMap((one, index): Stored[] => {
    const made = fresh[whole.length + index];
    if (made && isDeepStrictEqual(content(one.stored, one.desired), content(made, one.desired))) return [];
    return [{ ...one, what: 'a trace', fresh: made }];
  });
  await expectNone([...whole, ...rest, ...traces].filter(({ what }) => what !== undefined));
  expect(done).toBe(COUNT);
  expect(fresh).toHaveLength(whole.length + rest.length);
  expect(rest.length).toBeGreaterThan(COUNT / 10);
});

function counted(objects: readonly KubernetesObject[]): string {
  const kinds = Object.groupBy(objects, ({ kind }) => kind);
  return Object.entries(kinds)
    .map(([kind, of = []]) => `${of.length} ${kind}`)
    .join(', ');
}

/** Fails with what was found, and leaves a file with all of it. */
async function expectNone(found: readonly Stored[]): Promise<void> {
  if (found.length > 0) {
    const file = path.join(await mkdtemp(path.join(tmpdir(), 'counterexamples-')), 'found.json');
    await writeFile(file, JSON.stringify(found, undefined, 2));
    console.log(`counterexamples are in ${file}`);
  }
  const told = found.map(({ what, desired, spec }) => `${what}: ${desired.kind} of ${JSON.stringify(spec)}`);
  expect(told.slice(0, 3).map((one) => one.slice(0, 500))).toEqual([]);
}
