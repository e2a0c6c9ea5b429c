/** For random specs: what the server stores of a child has the fingerprint of what we wanted. */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Memcached, memcachedKind, validate, withDefaults } from '../../src/api/index.ts';
import { randomMemcached } from '../../src/api/random-memcached.ts';
import { children, MANAGED_BY } from '../../src/children/index.ts';
import { observedFingerprint, wantedFingerprint } from '../../src/controller/fingerprint.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { ApiError, type Client, isNotFound } from '../../src/runtime/client/index.ts';
import { startCluster, stopCluster } from '../support/cluster.ts';
import { administrator, memcached, NAMESPACE } from '../support/memcacheds.ts';
import { installOperator } from '../support/operator.ts';

const CLUSTER = { name: 'test-prints', form: 'none' } as const;
const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
const COUNT = 200;
const NAME = 'random';

const { signal } = new AbortController();
let client: Client;

beforeAll(async () => {
  await stopCluster(CLUSTER);
  const cluster = await startCluster(CLUSTER);
  await installOperator(cluster, signal);
  await cluster.kubectl(['create', 'quota', 'none', '--hard=pods=0']); // nobody needs the pods
  client = await administrator(cluster);
});

afterAll(async () => {
  await client?.close();
  await stopCluster(CLUSTER);
});

/** Without what makes it invalid: most random specs are. */
function repaired(random: Memcached): Memcached | undefined {
  const copy = structuredClone(random) as Memcached & Record<string, unknown>;
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const [error] = validate(copy);
    if (!error) return copy;
    if (!remove(copy, error.field.split(/[.[\]]+/).filter(Boolean))) return undefined;
  }
  return undefined;
}

/** Takes away the innermost part of the path that is there. */
function remove(from: unknown, names: readonly string[]): boolean {
  const [name = '', ...rest] = names;
  if (typeof from !== 'object' || from === null || !(name in from)) return false;
  const object = from as Record<string, unknown>;
  if (rest.length > 0 && remove(object[name], rest)) return true;
  if (name === 'spec') return false;
  if (Array.isArray(object)) object.splice(Number(name), 1);
  else delete object[name];
  return true;
}

interface Counterexample {
  readonly kind: string;
  readonly spec: Memcached['spec'];
  readonly desired: unknown;
  readonly stored: unknown;
}

function unlessNotFound(error: unknown): void {
  if (!isNotFound(error)) throw error;
}

/** Applies the children over whatever they were before, now and then anew. */
async function counterexamples(from: Memcached, isAnew: boolean): Promise<Counterexample[]> {
  const found: Counterexample[] = [];
  for (const { kind, build } of children) {
    const desired = build(withDefaults(from), {});
    if (!desired) continue;
    if (isAnew) await client.delete(kind, NAME, NAMESPACE).catch(unlessNotFound);
    const stored = await client.apply<KubernetesObject>(kind, desired, { fieldManager: MANAGED_BY, force: true });
    if (observedFingerprint(stored, MANAGED_BY) === wantedFingerprint(desired)) continue;
    found.push({ kind: kind.kind, spec: from.spec, desired, stored });
  }
  return found;
}

test(`${COUNT} random specs`, { timeout: 600_000 }, async () => {
  console.log(`seed ${SEED} (SEED=${SEED} does it again)`);
  await client.create(memcachedKind, memcached(NAME));
  const refused: string[] = [];
  const found: Counterexample[] = [];
  let done = 0;
  for (let batch = 0; done < COUNT && batch < 50; batch += 1) {
    const random = fc.sample(randomMemcached, { seed: SEED + batch, numRuns: 50 });
    for (const { spec } of random.flatMap((one) => repaired(one) ?? []).slice(0, COUNT - done)) {
      const body = [{ op: 'replace', path: '/spec', value: spec }];
      try {
        const stored = await client.patch<Memcached>(memcachedKind, NAME, NAMESPACE, { type: 'json', body });
        found.push(...(await counterexamples(stored, done % 10 === 9)));
        done += 1;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        refused.push(error.message); // the server knows Kubernetes' own types better than we do
      }
    }
  }
  console.log(`${done} specs; ${refused.length} more were refused by the server`);
  console.log(
    refused
      .map((one) => `  ${one.slice(0, 200)}`)
      .slice(0, 5)
      .join('\n'),
  );
  if (found.length > 0) {
    const file = path.join(await mkdtemp(path.join(tmpdir(), 'counterexamples-')), 'found.json');
    await writeFile(file, JSON.stringify(found, undefined, 2));
    console.log(`counterexamples are in ${file}`);
  }
  expect(done).toBe(COUNT);
  expect(found.map(({ kind, spec }) => `${kind} of ${JSON.stringify(spec)}`)).toEqual([]);
});
