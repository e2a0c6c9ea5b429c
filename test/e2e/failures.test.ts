/** What fails in clusters, made to fail beneath a deployed operator: what was promised, what was seen, and how long it took to recover. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { memcachedKind } from '../../src/api/index.ts';
import { Churn, deed } from '../support/churn.ts';
import { eventually, ROOT, startCluster } from '../support/cluster.ts';
import {
  deployed,
  ELSEWHERE,
  killOperator,
  operatorPods,
  SYSTEM,
  untilAdmitting,
  untilDeployed,
} from '../support/deployed.ts';
import { chosenSeed } from '../support/fault-proxy/index.ts';
import { change, conditions, getMemcached, isReady, memcached, message } from '../support/memcacheds.ts';
import { type Names, namesOf } from '../support/name-trail.ts';
import { healed, killOf } from '../support/outage.ts';
import { killHard, pidsOf, processesOf } from '../support/processes.ts';
import { seconds } from '../support/trial.ts';

const at = deployed('test-failures');
const SEED = chosenSeed();
/** More of everything, for those who have the time. */
const ROUNDS = process.env['FULL'] ? 5 : 1;
const CHANGES = 50;
const STEADY = 'steady';
const ROLE = ['clusterrole', 'memcached-operator-manager-role'];
const HOOKS = [...SYSTEM, 'patch', 'service', 'memcached-operator-webhook-service', '--type=merge', '--patch'];

/** Servers that go without a delay. */
const AT_ONCE = { gracefulShutdown: { enabled: false } };

/** They say nothing about pods, so that all there is to wait for is the operator. */
const churn = new Churn(at, 12, 0);
const table: string[] = [];

beforeAll(async () => {
  console.log(`seed ${SEED} (SEED=${SEED} does it again)`);
  await createSteady(new AbortController().signal);
  churn.wanted.set(STEADY, {});
});

/** What was done to the operator before is over. */
async function untilItWorks(signal: AbortSignal): Promise<void> {
  await untilDeployed(at, signal);
  await untilAdmitting(at, signal);
}

beforeEach(({ signal }) => untilItWorks(signal));

afterAll(() => console.log(`\n| fault | seen | time to recover |\n|---|---|---|\n${table.join('\n')}`));

/** Two servers that leave a node soon after it is gone: Kubernetes itself would wait for five minutes. */
async function createSteady(signal: AbortSignal): Promise<void> {
  const tolerations = ['unreachable', 'not-ready'].map((state) => ({
    key: `node.kubernetes.io/${state}`,
    operator: 'Exists' as const,
    effect: 'NoExecute' as const,
    tolerationSeconds: 5,
  }));
  const podDisruptionBudget = { enabled: true, maxUnavailable: 1 };
  const highAvailability = { podDisruptionBudget, ...AT_ONCE };
  await at.client.create(memcachedKind, memcached(STEADY, { replicas: 2, tolerations, highAvailability }));
  await steady(signal);
}

/** Resolves when both servers serve, each by its name. */
async function steady(signal: AbortSignal): Promise<Names> {
  await eventually('it is ready', () => getMemcached(at, STEADY), isReady, signal);
  return eventually(
    'both have names',
    () => namesOf(at, STEADY),
    (names) => Object.keys(names).length === 2,
    signal,
  );
}

/** Says how long it took from now on. */
async function recovers(fault: string, seen: string, work: () => Promise<unknown>): Promise<void> {
  const since = performance.now();
  await work();
  table.push(`| ${fault} | ${seen} | ${seconds(performance.now() - since)} |`);
  console.log(table.at(-1));
}

/** Resolves when everything is as the Memcacheds say. */
async function allIsRight(signal: AbortSignal): Promise<void> {
  const look = async () => {
    const { ours, theirs } = await churn.unfinished();
    return [...ours, ...theirs];
  };
  await eventually('all is as it should be', look, ({ length }) => length === 0, signal);
}

/** The first container of each pod of the operator, as the host sees it. */
async function operatorPids(): Promise<string[]> {
  const lines = await processesOf(at.cluster.instance, []);
  return lines.filter((line) => / \/memcached-operator\.mjs/.test(line)).map((line) => line.split(' ')[0] ?? '');
}

test.skipIf(ELSEWHERE)(
  `operators die at random during ${CHANGES} changes`,
  { timeout: ROUNDS * 300_000 },
  async ({ signal }) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      if (round > 0) {
        await killOperator(at); // new pods: of those that ended too often, Kubernetes puts off the next start
        await untilItWorks(signal);
      }
      const deeds = fc.sample(deed, { seed: SEED + round, numRuns: CHANGES });
      const fatal = fc.sample(fc.nat(CHANGES - 1), { seed: SEED + round, numRuns: 3 });
      let killed = 0;
      for (const [index, one] of deeds.entries()) {
        await churn.act(one);
        if (!fatal.includes(index)) continue;
        const pids = await operatorPids();
        if (pids.length > 0) await killHard(pids[killed++ % pids.length]); // none while both are being started again
      }
      const seen = `${killed} of them killed by kill -9; each change is carried out`;
      await recovers('operators die at random during 50 changes', seen, () => allIsRight(signal));
    }
    expect(await churn.unfinished()).toEqual({ ours: [], theirs: [] });
  },
);

test.skipIf(ELSEWHERE).for(['kube-apiserver', 'etcd'] as const)('%s is restarted', async (name, { signal }) => {
  const before = await namesOf(at, STEADY);
  await churn.rage(10, 500, SEED, signal);
  await killOf(at.cluster, name);
  const { done } = await healed(at, at.options);
  await churn.rage(10, 500, SEED + 1, signal);
  await recovers(`${name} killed and started again`, 'servers go on; all changes are carried out', () =>
    allIsRight(signal),
  );
  await done;
  expect(await steady(signal)).toEqual(before);
});

test('a permission is taken away and given back', async ({ signal }) => {
  const { rules } = JSON.parse(await at.kubectl(['get', ...ROLE, '-o', 'json'])) as {
    rules: { resources?: string[] }[];
  };
  const patch = (rest: object) => at.kubectl(['patch', ...ROLE, '--type=merge', '--patch', JSON.stringify(rest)]);
  await patch({ rules: rules.filter(({ resources }) => !resources?.includes('deployments')) });
  const before = await namesOf(at, STEADY);
  const isTold = (words: string) => async () => (await toldOf(words)) === words;
  const toldOf = async (words: string) =>
    conditions(await getMemcached(at, STEADY))['Degraded'] === words ? words : '';
  await change(at, STEADY, { spec: { memcached: { maxMemoryMB: 72 } } });
  await eventually('it is told', isTold('True/ApplyFailed'), Boolean, signal);
  const words = message(await getMemcached(at, STEADY), 'Degraded');
  expect(words).toContain('deployments');
  expect(await namesOf(at, STEADY)).toEqual(before);
  await patch({ rules });
  const seen = 'Degraded=True, ApplyFailed, with the missing permission; servers go on; nobody has to restart anything';
  await recovers('a permission taken away, and given back', seen, () =>
    eventually('it is applied', isTold('False/AllReplicasReady'), Boolean, signal),
  );
  await steady(signal);
});

test('webhooks cannot be reached', async ({ signal }) => {
  await at.kubectl([...HOOKS, JSON.stringify({ spec: { selector: { nobody: 'here' } } })]);
  await killOperator(at); // the API server would go on with the connections that it has
  const create = (name: string) =>
    at.client.create(memcachedKind, memcached(name, { replicas: 0 })).then(
      () => 'created',
      (error: unknown) => String(error),
    );
  const attempts: string[] = [];
  const refused = async () => {
    attempts.push(await create(`unchecked-${attempts.length}`));
    return attempts.at(-1) ?? '';
  };
  expect(await eventually('it is refused', refused, (said) => said !== 'created', signal)).toContain('webhook');
  await at.kubectl(['delete', 'service', STEADY]);
  await eventually('the operator works', () => at.kubectl(['get', 'service', STEADY, '-o', 'name']), Boolean, signal);
  expect(await create('unchecked-still')).toContain('webhook');
  await at.kubectl([...HOOKS, JSON.stringify({ spec: { selector: { nobody: null } } })]);
  const seen = 'nothing gets in unchecked; what is there is looked after as before';
  await recovers('webhooks cannot be reached', seen, () =>
    eventually(
      'it is created',
      () => create('checked'),
      (said) => said === 'created',
      signal,
    ),
  );
});

test('a namespace is deleted with a Memcached in it', async ({ signal }) => {
  const pods = await operatorPods(at);
  await at.kubectl(['create', 'namespace', 'doomed']);
  await at.client.create(memcachedKind, memcached('inside', { highAvailability: AT_ONCE }, { namespace: 'doomed' }));
  await at.kubectl(['-n', 'doomed', 'wait', '--for=condition=Ready', 'mc/inside', '--timeout=180s'], { signal });
  await recovers('a namespace deleted with a Memcached in it', 'gone with everything; nothing holds it', () =>
    at.kubectl(['delete', 'namespace', 'doomed', '--timeout=180s'], { signal }),
  );
  expect(await operatorPods(at)).toEqual(pods);
});

test('children are deleted, one every second', { timeout: ROUNDS * 300_000 }, async ({ signal }) => {
  const before = await namesOf(at, STEADY);
  const kinds = ['service', 'endpointslice', 'poddisruptionbudget'];
  let longest = 0;
  const count = 10 * ROUNDS;
  for (let index = 0; index < count; index += 1) {
    const child = [kinds[index % kinds.length] ?? '', STEADY];
    const next = sleep(1000, undefined, { signal });
    await at.kubectl(['delete', ...child]);
    const since = performance.now();
    await eventually(`${child[0]} is back`, () => at.kubectl(['get', ...child, '-o', 'name']), Boolean, signal);
    longest = Math.max(longest, performance.now() - since);
    await next;
  }
  table.push(
    `| a child deleted every second, ${count} times | each is back; names as before | ${seconds(longest)} at most |`,
  );
  expect(await steady(signal)).toEqual(before);
});

/** Where the servers that have names are. */
async function nodes(): Promise<string[]> {
  const pods = Object.values(await namesOf(at, STEADY));
  return Promise.all(pods.map((pod) => at.kubectl(['get', 'pod', pod, '-o', 'jsonpath={.spec.nodeName}'])));
}

const areAllOn = (node: string) => (seen: readonly string[]) => seen.length === 2 && seen.every((one) => one === node);

test.skipIf(ELSEWHERE)('a node is gone, and comes back', { timeout: 600_000 }, async ({ signal }) => {
  const { 'kubelet-2': pid } = await pidsOf(at.cluster.instance, ['kubelet-2']);
  await killHard(pid);
  const seen = 'its servers are replaced elsewhere and their names lead there; the others stay';
  await recovers(
    'a node is gone (no word from its kubelet; Kubernetes waits about 50 s before it believes that)',
    seen,
    () => eventually('all are on the other node', nodes, areAllOn('node-1'), signal),
  );
  const names = await steady(signal);
  await startCluster({ ...at.options, signal });
  const selector = ['-l', `app.kubernetes.io/instance=${STEADY}`];
  const pods = async () => (await at.kubectl(['get', 'pods', ...selector, '-o', 'name'])).trim().split('\n');
  await recovers('the node is back', 'what was left of them goes; no name moves again', () =>
    eventually('what was left is gone', pods, ({ length }) => length === 2, signal),
  );
  expect(await steady(signal)).toEqual(names);
});

test.skipIf(ELSEWHERE)('a node is tainted', async ({ signal }) => {
  await at.kubectl(['taint', 'node', 'node-1', 'test=out:NoExecute']);
  await recovers('a node is tainted (NoExecute), and empties', 'servers and operator move; names follow', async () => {
    await eventually('all are on the other node', nodes, areAllOn('node-2'), signal);
    await steady(signal);
  });
  await at.kubectl(['taint', 'node', 'node-1', 'test-']);
  await untilDeployed(at, signal);
  expect(await nodes()).toSatisfy(areAllOn('node-2'));
});

test('the definition is deleted, and installed again', async ({ signal }) => {
  const pods = await operatorPods(at);
  await at.kubectl(['delete', 'crd', 'memcacheds.memcached.c5c3.io', '--timeout=180s'], { signal });
  const left = () =>
    at.kubectl(['get', 'deployments,services', '-l', 'app.kubernetes.io/name=memcached', '-o', 'name']);
  await eventually('their children are gone', left, (names) => names === '', signal);
  const input = await readFile(path.join(ROOT, 'config/crd/memcacheds.yaml'), 'utf8');
  await at.kubectl(['apply', '--server-side', '-f', '-'], { input });
  await at.kubectl(['wait', '--for=condition=Established', 'crd/memcacheds.memcached.c5c3.io', '--timeout=60s']);
  const seen =
    'Memcacheds go with their children; the operator waits, and makes new ones true, its first server included';
  await recovers('the definition deleted, and installed again', seen, () => createSteady(signal));
  expect(await operatorPods(at)).toEqual(pods);
});
