/** Keystone's token cache under constant load, while everything happens to the servers that happens to servers: what fails is counted. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type Memcached, memcachedKind } from '../../src/api/index.ts';
import { eventually } from '../support/cluster.ts';
import { deployed, ELSEWHERE, killOperator, untilDeployed } from '../support/deployed.ts';
import { change, getMemcached, isReady, NAMESPACE } from '../support/memcacheds.ts';
import { type Names, namesOf } from '../support/name-trail.ts';
import { healed, killOf } from '../support/outage.ts';
import { between, documented, report, startClients, stopClients } from '../support/token-cache.ts';

const NAME = 'tokens';
const CLIENTS = 'keystone';
/** Clients that were told of five servers. */
const FIVE = 'keystone-of-five';
const at = deployed(
  'test-keystone',
  [CLIENTS, FIVE].flatMap((name) => [`pod/${name}`, `configmap/${name}`]),
);
const table: string[] = [];

const serversOf = (count: number) =>
  Array.from({ length: count }, (_, slot) => `${NAME}-${slot}.${NAME}.${NAMESPACE}.svc:11211`);

beforeAll(async () => {
  const object = parse(documented('docs/keystone.md', 'yaml')) as Memcached;
  const { metadata, spec } = object;
  const { signal } = new AbortController();
  await at.client.create(memcachedKind, {
    ...object,
    metadata: { ...metadata, namespace: NAMESPACE },
    spec: { ...spec, image: 'memcached:1.6.18' },
  });
  const { status } = await ready(3, signal);
  await startClients(at, CLIENTS, status?.serverList ?? []);
});

afterEach(async () => {
  if (at.cluster) await at.kubectl(['uncordon', 'node-1']);
});

afterAll(() => {
  console.log(`\n${'scenario'.padEnd(44)} operations  failed  misses\n${table.join('\n')}`);
});

/** Resolves when as many servers serve, each by its name, and none is on its way out. */
async function ready(count: number, signal: AbortSignal): Promise<Memcached> {
  const names = () => namesOf(at, NAME);
  const isWhole = (seen: Names) => Object.keys(seen).length === count;
  await eventually(`${count} names`, names, isWhole, signal);
  const pods = () => at.kubectl(['get', 'pods', '-l', `app.kubernetes.io/instance=${NAME}`, '-o', 'name']);
  await eventually('no more pods', pods, (seen) => seen.trim().split('\n').length === count, signal);
  return eventually('it is ready', () => getMemcached(at, NAME), isReady, signal);
}

type Outcome = ReturnType<typeof between>;

/** Counts what fails while something happens, until everything has settled. */
async function during(what: string, work: () => Promise<unknown>, signal: AbortSignal, name = CLIENTS) {
  const before = await report(at, name, signal);
  const start = performance.now();
  await work();
  const settled = Math.round((performance.now() - start) / 1000);
  const after = await report(at, name, signal);
  const outcome: Outcome = between(before, after);
  const failed = outcome.failed.reduce((sum, { count }) => sum + count, 0);
  const cells = [`${outcome.operations}`.padStart(10), `${failed}`.padStart(7), `${outcome.misses}`.padStart(7)];
  table.push(`${what.padEnd(44)} ${cells.join(' ')}   (${settled} s, longest call so far ${after.slowestMs} ms)`);
  console.log(table.at(-1), JSON.stringify(outcome.failed));
  return outcome;
}

/** Replaces all servers, the new ones first. */
const rollOut = (patch: object, signal: AbortSignal) => async () => {
  const before = await namesOf(at, NAME);
  await change(at, NAME, { spec: patch });
  const isNew = (seen: Names) => Object.entries(before).every(([name, pod]) => seen[name] && seen[name] !== pod);
  await eventually('all are new', () => namesOf(at, NAME), isNew, signal);
  await ready(3, signal);
};

test('a new image: no call fails', async ({ signal }) => {
  const { failed } = await during('image changed', rollOut({ image: 'memcached:1.6' }, signal), signal);
  expect(failed).toEqual([]);
});

test('a new configuration: no call fails', async ({ signal }) => {
  const { failed } = await during('config changed', rollOut({ memcached: { maxMemoryMB: 128 } }, signal), signal);
  expect(failed).toEqual([]);
});

test('pods deleted one by one: at most calls for the deleted one fail', async ({ signal }) => {
  for (const name of Object.keys(await namesOf(at, NAME))) {
    const pod = (await namesOf(at, NAME))[name] ?? '';
    const work = async () => {
      await at.kubectl(['delete', 'pod', pod]);
      await ready(3, signal);
    };
    const { failed } = await during(`pod of ${name} deleted`, work, signal);
    expect(failed.filter(({ server }) => !server.startsWith(`${name}.`))).toEqual([]);
  }
});

test('three servers, five, three: nothing fails for clients of three, and at most the two for clients of five', async ({
  signal,
}) => {
  const scale = (count: number) => async () => {
    await at.kubectl(['scale', `mc/${NAME}`, `--replicas=${count}`]);
    await ready(count, signal);
  };
  const more = await during('3 to 5 servers', scale(5), signal);
  expect(more.failed).toEqual([]);
  await startClients(at, FIVE, serversOf(5));
  const fewer = await during(
    '5 to 3 servers, clients that know 5',
    async () => {
      const { failed } = await during('5 to 3 servers, clients that know 3', scale(3), signal);
      expect(failed).toEqual([]);
    },
    signal,
    FIVE,
  );
  const isGone = (server: string) => serversOf(5).indexOf(server) >= 3;
  expect(fewer.failed.filter(({ server }) => !isGone(server))).toEqual([]);
  await stopClients(at, FIVE);
});

test('the operator is killed: no call fails', async ({ signal }) => {
  const work = async () => {
    await killOperator(at);
    await untilDeployed(at, signal);
  };
  expect((await during('operator killed', work, signal)).failed).toEqual([]);
});

test.skipIf(ELSEWHERE)('the API server is restarted: no call fails', async ({ signal }) => {
  const work = async () => {
    await killOf(at.cluster, 'kube-apiserver');
    await (await healed(at, at.options)).done;
  };
  expect((await during('API server restarted', work, signal)).failed).toEqual([]);
});

test.skipIf(ELSEWHERE)('a node is drained: at most calls for its servers fail', async ({ signal }) => {
  const selector = ['-l', `app.kubernetes.io/instance=${NAME}`, '--field-selector', 'spec.nodeName=node-1'];
  const there = (await at.kubectl(['get', 'pods', ...selector, '-o', 'jsonpath={.items[*].metadata.name}'])).split(' ');
  const lost = Object.entries(await namesOf(at, NAME)).flatMap(([name, pod]) => (there.includes(pod) ? [name] : []));
  expect(lost).not.toEqual([]);
  const work = async () => {
    await at.kubectl(['drain', 'node-1', '--ignore-daemonsets', '--force', '--timeout=180s'], { signal });
    await ready(3, signal);
  };
  const { failed } = await during(`node with ${lost.length} servers drained`, work, signal);
  expect(failed.filter(({ server }) => !lost.some((name) => server.startsWith(`${name}.`)))).toEqual([]);
});
