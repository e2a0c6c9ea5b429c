/** An operator that is killed again and again, wherever it happens to be: the next one finishes what it has begun. */
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Memcached, type MemcachedSpec, memcachedKind, withDefaults } from '../../src/api/index.ts';
import { children, deploymentKind, MANAGED_BY, MANAGED_SELECTOR } from '../../src/children/index.ts';
import { observedFingerprint, wantedFingerprint } from '../../src/controller/fingerprint.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { isNotFound } from '../../src/runtime/client/index.ts';
import { find, isReady, memcached, NAMESPACE, stage, until } from '../support/memcacheds.ts';
import { Operator } from '../support/operator.ts';

const at = stage({ name: 'test-kill', form: 'fake', fakeNodes: 3 });
const KILLS = 100;
const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000);

/** What happens between two kills: some changes, at some moment before the end. */
const spec: fc.Arbitrary<MemcachedSpec> = fc.record({
  replicas: fc.nat(2),
  memcached: fc.record({ maxMemoryMB: fc.integer({ min: 64, max: 512 }) }),
  service: fc.record({ annotations: fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('1', '2')) }),
});
const deed = fc.record({
  name: fc.integer({ min: 0, max: 9 }).map((number) => `victim-${number}`),
  verb: fc.constantFrom('create', 'create', 'change', 'change', 'delete', 'meddle', 'destroy'),
  spec,
});
const round = fc.record({
  deeds: fc.array(deed, { minLength: 1, maxLength: 4 }),
  /** Whether they happen before the operator is there. */
  isEarly: fc.boolean(),
  killAfterMs: fc.nat(80),
});
type Deed = typeof deed extends fc.Arbitrary<infer Value> ? Value : never;

/** What should be there in the end. */
const wanted = new Map<string, MemcachedSpec>();

async function act({ name, verb, spec: now }: Deed): Promise<void> {
  const exists = wanted.has(name);
  if (verb === 'delete' && exists) {
    wanted.delete(name);
    await at.client.delete(memcachedKind, name, NAMESPACE);
  } else if (verb === 'create' && !exists) {
    wanted.set(name, now);
    await at.client.create(memcachedKind, memcached(name, now));
  } else if ((verb === 'change' || verb === 'create') && exists) {
    wanted.set(name, now);
    const body = [{ op: 'replace', path: '/spec', value: now }];
    await at.client.patch(memcachedKind, name, NAMESPACE, { type: 'json', body });
  } else if (verb === 'meddle' || verb === 'destroy') {
    await disturb(verb, name);
  }
}

/** Somebody else's hands on the Deployment, if there is one. */
async function disturb(verb: 'meddle' | 'destroy', name: string): Promise<void> {
  const body = { spec: { replicas: 1, template: { spec: { terminationGracePeriodSeconds: 7 } } } };
  const deployment = verb === 'destroy' ? at.client.delete(deploymentKind, name, NAMESPACE) : undefined;
  const touched = deployment ?? at.client.patch(deploymentKind, name, NAMESPACE, { type: 'merge', body });
  await touched.catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}

/** Everything that is not as it should be. */
async function unfinished(): Promise<string[]> {
  const list = async <T>(kind: typeof memcachedKind, labelSelector?: string) =>
    (await at.client.list<T>(kind, { namespace: NAMESPACE, labelSelector })).items;
  const memcacheds = await list<Memcached>(memcachedKind);
  const found = memcacheds.flatMap((one) => (isReady(one) ? [] : [`${one.metadata.name} is not ready`]));
  if (memcacheds.length !== wanted.size) found.push(`${memcacheds.length} Memcacheds`);
  for (const { kind, build } of children) {
    const objects = new Map(
      (await list<KubernetesObject>(kind, MANAGED_SELECTOR)).map((one) => [one.metadata.name, one]),
    );
    for (const one of memcacheds) {
      const { name } = one.metadata;
      const object = objects.get(name);
      const desired = build(withDefaults(one), {});
      if (!object || !desired || observedFingerprint({ ...object, ...kind }, MANAGED_BY) !== wantedFingerprint(desired))
        found.push(`${kind.kind} ${name} is ${object ? 'not as wanted' : 'missing'}`);
      objects.delete(name);
    }
    found.push(...[...objects.keys()].map((name) => `${kind.kind} ${name} is too many`));
  }
  return found;
}

test(`${KILLS} kills leave nothing half-done`, { timeout: 900_000 }, async ({ signal }) => {
  console.log(`seed ${SEED} (SEED=${SEED} does it again)`);
  await at.operator.kill();
  const rounds = fc.sample(round, { seed: SEED, numRuns: KILLS });
  const left: number[] = [];
  const stumbles: string[] = [];
  for (const { deeds, isEarly, killAfterMs } of rounds) {
    if (isEarly) for (const one of deeds) await act(one);
    const operator = await Operator.launch(at.kubeconfig);
    while (!operator.logs.some((line) => line.message === 'in control')) {
      operator.assertAlive();
      await sleep(1, undefined, { signal });
    }
    if (!isEarly) for (const one of deeds) await act(one);
    await sleep(killAfterMs);
    await operator.kill();
    left.push((await unfinished()).length);
    stumbles.push(...operator.logs.filter(({ level }) => level === 'error').map((line) => JSON.stringify(line)));
  }
  const interrupted = left.filter((count) => count > 0).length;
  console.log(`${interrupted} of ${KILLS} kills left something to do: ${left.join(' ')}`);
  console.log(`errors on the way: ${stumbles.join('\n') || 'none'}`);
  at.operator = await Operator.start(at.kubeconfig, signal);
  const look = async () => {
    await sleep(200);
    return unfinished();
  };
  const { ms } = await until(at, 'all is done', look, ({ length }) => length === 0, signal);
  console.log(`${wanted.size} Memcacheds are well ${Math.round(ms)} ms after the last start`);
  await sleep(1000);
  expect(await unfinished()).toEqual([]);
  const finalizers = await Promise.all([...wanted.keys()].map((name) => find(at, memcachedKind, name)));
  expect(finalizers.filter((one) => one && 'finalizers' in one.metadata)).toEqual([]);
});
