/** The watch cache on a real API server, which is killed, upgraded with kinds, and asked for more than it remembers. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { kubeconfigOf } from '../../devcluster/instance.ts';
import type { Kind, KubernetesObject } from '../../src/kubernetes/object.ts';
import { Informer, type InformerOptions } from '../../src/runtime/cache/informer.ts';
import { crdKind, crdNameOf, watchDefinitions } from '../../src/runtime/cache/presence.ts';
import { ApiError, type Client, createClient, findAccess, type RequestInfo } from '../../src/runtime/client/index.ts';
import { keyOf } from '../../src/runtime/key.ts';
import type { LogFields } from '../../src/runtime/log.ts';
import { eventually, startCluster, stopCluster, type TestCluster } from '../support/cluster.ts';
import { killHard, pidsOf } from '../support/processes.ts';

// Servers before 1.32 stream lists only where they are told to.
const CLUSTER = { name: 'test-cache', form: 'none', apiserverArgs: ['--feature-gates=WatchList=true'] } as const;
const OURS = { 'app.kubernetes.io/managed-by': 'cache-test' };
const labelSelector = 'app.kubernetes.io/managed-by=cache-test';

const configMaps: Kind = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true };
const secrets: Kind = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true };
const namespaces: Kind = { apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false };
const deployments: Kind = { apiVersion: 'apps/v1', kind: 'Deployment', plural: 'deployments', namespaced: true };
const widgets: Kind = { apiVersion: 'test.c5c3.io/v1', kind: 'Widget', plural: 'widgets', namespaced: true };

let cluster: TestCluster;
let client: Client;
const requests: RequestInfo[] = [];

beforeAll(async () => {
  await stopCluster(CLUSTER);
  cluster = await startCluster(CLUSTER);
  const access = await findAccess({ kubeconfig: kubeconfigOf(cluster.instance), env: {}, home: '/' });
  client = createClient({ access, userAgent: 'cache-test/1', onRequest: (info) => requests.push(info) });
});

afterAll(async () => {
  await client?.close();
  await stopCluster(CLUSTER);
});

interface Stored {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string | undefined;
    readonly resourceVersion?: string;
  };
  readonly value: unknown;
}

function project(object: KubernetesObject): Stored {
  const { name, namespace, resourceVersion = '', labels = {} } = object.metadata;
  const { data, spec } = object as { data?: unknown; spec?: { replicas?: number; size?: number } };
  const value = data ?? spec?.replicas ?? spec?.size ?? labels['number'];
  return { metadata: { name, namespace, resourceVersion }, value };
}

/** An informer that lives as long as the test, with what it tells. */
function inform(options: Pick<InformerOptions<Stored>, 'kind'> & Partial<InformerOptions<Stored>>) {
  const error = (message: string, { error: cause }: LogFields = {}) => console.log(`${message}: ${String(cause)}`);
  const log = { debug: () => {}, info: () => {}, error };
  const informer = new Informer<Stored>({ client, project, log, ...options });
  const changes: string[] = [];
  const heard = new Map<string, Stored>();
  informer.onChange((change) => {
    const key = keyOf(change.new ?? change.old ?? { metadata: { name: 'nothing' } });
    if (change.new) heard.set(key, change.new);
    else heard.delete(key);
    changes.push(`${change.old ? '-' : ''}${change.new ? '+' : ''}${key}`);
  });
  const stop = new AbortController();
  const run = (running: Promise<void>) => {
    onTestFinished(async () => {
      stop.abort();
      await running;
    });
    return informer.synced;
  };
  return { informer, changes, heard, log, signal: stop.signal, start: () => run(informer.run(stop.signal)), run };
}

/** A namespace of its own for a test. */
async function makeNamespace(name: string): Promise<string> {
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  return name;
}

function make(kind: Kind, namespace: string, name: string, rest: object = {}, labels: object = OURS): Promise<unknown> {
  const { apiVersion, kind: kindName } = kind;
  return client.create(kind, {
    apiVersion,
    kind: kindName,
    metadata: { name, namespace, labels },
    ...rest,
  } as KubernetesObject);
}

const merge = (kind: Kind, namespace: string, name: string, body: object) =>
  client.patch(kind, name, namespace, { type: 'merge', body });

/** Waits until the cache has nothing that the server has not, and the other way round. */
function sameAsServer(informer: Informer<Stored>, namespace: string, signal: AbortSignal) {
  const look = async () => {
    const { items } = await client.list<KubernetesObject>(informer.kind, { namespace, labelSelector });
    const shown = (objects: readonly Pick<Stored, 'metadata'>[]) =>
      objects.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).toSorted();
    return { server: shown(items), cache: shown(informer.list()) };
  };
  const isSame = ({ server, cache }: Awaited<ReturnType<typeof look>>) => server.join() === cache.join();
  return eventually('the cache has what the server has', look, isSame, signal);
}

async function inBatches(count: number, work: (number: number) => Promise<unknown>): Promise<void> {
  for (let start = 0; start < count; start += 20) {
    await Promise.all(Array.from({ length: Math.min(20, count - start) }, (_, index) => work(start + index)));
  }
}

/** Ends the API server without a word, and gives it back. It then remembers nothing of what was before. */
async function killServer(whileGone: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  const { 'kube-apiserver': pid } = await pidsOf(cluster.instance, ['kube-apiserver']);
  await killHard(pid);
  await whileGone();
  await startCluster({ ...CLUSTER, signal });
}

const podTemplate = (app: string) => ({
  selector: { matchLabels: { app } },
  template: { metadata: { labels: { app } }, spec: { containers: [{ name: 'main', image: 'none' }] } },
});

test('one streaming list gives 200 Deployments out of more, and then each change', async ({ signal }) => {
  const namespace = await makeNamespace('streamed');
  await inBatches(220, (number) => {
    const labels = number < 200 ? OURS : { other: 'yes' };
    return make(
      deployments,
      namespace,
      `d-${number}`,
      { spec: { replicas: 0, ...podTemplate(`d-${number}`) } },
      labels,
    );
  });
  const { informer, changes, heard, start } = inform({ kind: deployments, namespace, labelSelector });
  requests.length = 0;
  await start();
  expect(informer.size).toBe(200);
  expect(requests.map(({ verb, code }) => `${verb} ${code}`)).toEqual(['watch 200']);
  await sameAsServer(informer, namespace, signal); // the controllers have written their status
  changes.length = 0;
  await merge(deployments, namespace, 'd-7', { spec: { paused: true } });
  await client.delete(deployments, 'd-8', namespace);
  await make(deployments, namespace, 'new', { spec: { replicas: 0, ...podTemplate('new') } });
  await sameAsServer(informer, namespace, signal);
  expect(changes).toContain('-+streamed/d-7'); // and perhaps others: controllers write their status when they like
  const comeOrGone = changes.filter((change) => !change.startsWith('-+'));
  expect(comeOrGone.toSorted()).toEqual(['+streamed/new', '-streamed/d-8']);
  expect(informer.get('streamed/d-8')).toBeUndefined();
  expect(heard.size).toBe(200);
});

test('a list in pages gives the same where streaming is refused', async ({ signal }) => {
  const namespace = await makeNamespace('paged');
  await inBatches(600, (number) => make(configMaps, namespace, `c-${number}`, { data: { number: String(number) } }));
  const refusing: Pick<Client, 'list' | 'watch'> = {
    list: (kind, options) => client.list(kind, options),
    watch(kind, options) {
      if (options.sendInitialEvents) throw new ApiError(422, { reason: 'Invalid' });
      return client.watch(kind, options);
    },
  };
  const { informer, changes, start } = inform({ client: refusing, kind: configMaps, namespace, labelSelector });
  requests.length = 0;
  await start();
  expect(informer.size).toBe(600);
  expect(requests.filter(({ verb }) => verb === 'list')).toHaveLength(2);
  changes.length = 0;
  await merge(configMaps, namespace, 'c-599', { data: { number: 'x' } });
  await sameAsServer(informer, namespace, signal);
  expect(changes).toEqual(['-+paged/c-599']);
});

test('watches that the server ends, and versions that it has forgotten, change nothing', async ({ signal }) => {
  const namespace = await makeNamespace('forgotten');
  await inBatches(20, (number) => make(configMaps, namespace, `c-${number}`));
  await killServer(async () => {}, signal);
  const asked: string[] = [];
  const impatient: Pick<Client, 'list' | 'watch'> = {
    list: (kind, options) => client.list(kind, options),
    watch(kind, options) {
      const resumed = asked.filter((what) => what === 'resumed').length;
      asked.push(options.sendInitialEvents ? 'streamed' : 'resumed');
      // The first one that goes on does so from a version that no server remembers.
      const forgotten = !options.sendInitialEvents && resumed === 0 ? { resourceVersion: '1' } : {};
      return client.watch(kind, { ...options, ...forgotten, timeoutSeconds: 1 });
    },
  };
  const { informer, changes, start } = inform({ client: impatient, kind: configMaps, namespace, labelSelector });
  await start();
  const enough = async () => asked.slice(0, 4).join();
  await eventually('it has listed anew and resumed', enough, (what) => what.split(',').length === 4, signal);
  expect(asked.slice(0, 4)).toEqual(['streamed', 'resumed', 'streamed', 'resumed']);
  expect(changes).toHaveLength(20);
  await merge(configMaps, namespace, 'c-3', { data: { a: 'b' } });
  await sameAsServer(informer, namespace, signal);
  expect(changes.slice(20)).toEqual(['-+forgotten/c-3']);
});

test('kill -9 of the API server: what happened before and after is told once', async ({ signal }) => {
  const namespace = await makeNamespace('killed');
  await inBatches(200, (number) => make(configMaps, namespace, `c-${number}`));
  const { informer, changes, start } = inform({ kind: configMaps, namespace, labelSelector });
  await start();
  expect(changes).toHaveLength(200);
  changes.length = 0;
  await merge(configMaps, namespace, 'c-1', { data: { late: 'yes' } });
  const isLost = () =>
    eventually(
      'the watch is lost',
      async () => informer.state,
      (state) => state !== 'watch',
      signal,
    );
  await killServer(isLost, signal);
  expect(informer.size).toBe(200);
  const begin = performance.now();
  await client.delete(configMaps, 'c-2', namespace);
  await make(configMaps, namespace, 'after');
  await sameAsServer(informer, namespace, signal);
  console.log(`seen ${Math.round(performance.now() - begin)} ms after the API server had come back`);
  expect(changes.toSorted()).toEqual(['+killed/after', '-+killed/c-1', '-killed/c-2']);
  expect(informer.hasSynced()).toBe(true);
});

test('an object that leaves the selector is gone, though it is still there', async ({ signal }) => {
  const namespace = await makeNamespace('selected');
  await make(configMaps, namespace, 'c');
  const { informer, changes, start } = inform({ kind: configMaps, namespace, labelSelector });
  await start();
  const labelled = (by: string | null) =>
    merge(configMaps, namespace, 'c', { metadata: { labels: { 'app.kubernetes.io/managed-by': by } } });
  await labelled('someone-else');
  await eventually(
    'it is gone',
    async () => informer.size,
    (size) => size === 0,
    signal,
  );
  await client.get(configMaps, 'c', namespace);
  await labelled('cache-test');
  await eventually(
    'it is back',
    async () => informer.size,
    (size) => size === 1,
    signal,
  );
  await labelled(null);
  await eventually(
    'it is gone again',
    async () => informer.size,
    (size) => size === 0,
    signal,
  );
  expect(changes).toEqual(['+selected/c', '-selected/c', '+selected/c', '-selected/c']);
});

test('of Secrets only the metadata comes, and yet each change of the content', async ({ signal }) => {
  const namespace = await makeNamespace('secrets');
  const seen: object[] = [];
  const spying = (object: KubernetesObject) => {
    seen.push(object);
    return project(object);
  };
  await make(secrets, namespace, 's', { stringData: { password: 'x' } });
  const { informer, changes, start } = inform({ kind: secrets, namespace, metadataOnly: true, project: spying });
  await start();
  await merge(secrets, namespace, 's', { stringData: { password: 'y' } });
  await eventually(
    'the change is told',
    async () => changes.length,
    (count) => count === 2,
    signal,
  );
  expect(changes).toEqual(['+secrets/s', '-+secrets/s']);
  expect(informer.size).toBe(1);
  expect(seen).toHaveLength(2);
  for (const object of seen) expect(Object.keys(object).toSorted()).toEqual(['apiVersion', 'kind', 'metadata']);
});

const definition = {
  apiVersion: crdKind.apiVersion,
  kind: crdKind.kind,
  metadata: { name: crdNameOf(widgets) },
  spec: {
    group: 'test.c5c3.io',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

test('a kind that comes, goes and comes back', async ({ signal }) => {
  const namespace = await makeNamespace('installed');
  const { informer, changes, log, run, signal: stopped } = inform({ kind: widgets, namespace });
  const presence: { isPresent: boolean; at: number }[] = [];
  informer.onPresence((isPresent) => presence.push({ isPresent, at: performance.now() }));
  const watching = watchDefinitions([informer], { client, log }, stopped);
  await run(Promise.all([watching, informer.run(stopped)]).then(() => undefined));
  expect([informer.isPresent(), informer.size, informer.state]).toEqual([false, 0, 'absent']);
  for (const round of [1, 2]) {
    const begin = performance.now();
    await client.create(crdKind, definition);
    await eventually('it is there', async () => informer.isPresent(), Boolean, signal);
    const foundAfter = (presence.at(-1)?.at ?? 0) - begin;
    console.log(`round ${round}: found ${Math.round(foundAfter)} ms after the definition was sent`);
    await inBatches(5, (number) => make(widgets, namespace, `w-${number}`, { spec: { size: number } }));
    await eventually(
      'all are seen',
      async () => informer.size,
      (size) => size === 5,
      signal,
    );
    const hold = (finalizers: readonly string[]) =>
      client.patch(widgets, 'w-1', namespace, { type: 'merge', body: { metadata: { finalizers } } });
    await hold(['test.c5c3.io/held']);
    await client.delete(crdKind, definition.metadata.name, undefined);
    await eventually('it counts as gone', async () => !informer.isPresent(), Boolean, signal);
    expect([informer.size > 0, informer.state]).toEqual([true, 'watch']); // it is on its way out, held by one of its objects
    await hold([]);
    await eventually(
      'it is gone',
      async () => informer.state,
      (state) => state === 'absent',
      signal,
    );
    expect([informer.isPresent(), informer.size]).toEqual([false, 0]);
  }
  expect(presence.map(({ isPresent }) => isPresent)).toEqual([false, true, false, true, false]);
  expect(changes.filter((change) => change.startsWith('+'))).toHaveLength(10);
  expect(changes.filter((change) => !change.includes('+'))).toHaveLength(10);
});

/** What a Deployment of ours is on the wire: about 6 KB. */
function wireEvent(number: number): string {
  const metadata = {
    name: `cache-instance-${number}`,
    namespace: `team-namespace-${number % 50}`,
    uid: `0b7e0c3a-5c1f-4e0f-9c6e-${String(number).padStart(12, '0')}`,
    resourceVersion: String(100_000 + number),
    labels: { ...OURS, 'app.kubernetes.io/instance': `cache-instance-${number}`, number: String(number) },
    managedFields: [{ filler: 'x'.repeat(1500) }],
  };
  const containers = [{ name: 'memcached', filler: 'y'.repeat(4000) }];
  return JSON.stringify({ type: 'ADDED', object: { metadata, spec: { replicas: 3, template: { containers } } } });
}

test('10,000 projected Deployments take little memory', async () => {
  const wired: Pick<Client, 'list' | 'watch'> = {
    list: () => expect.unreachable(),
    async *watch(_kind, { signal }) {
      for (let number = 0; number < 10_000; number += 1) yield JSON.parse(wireEvent(number));
      const annotations = { 'k8s.io/initial-events-end': 'true' };
      yield { type: 'BOOKMARK', object: { metadata: { resourceVersion: '999999', annotations } } };
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
  };
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heap = () => {
    collect();
    return process.memoryUsage().heapUsed / 1e6;
  };
  const log = { debug: () => {}, info: () => {}, error: () => expect.unreachable() };
  const stop = new AbortController();
  const before = heap();
  const begin = performance.now();
  const informer = new Informer({
    client: wired,
    kind: deployments,
    log,
    project: ({ metadata: { name, namespace, uid, resourceVersion, labels } }) => ({
      metadata: { name, namespace, uid, resourceVersion, labels },
      status: { replicas: 3, readyReplicas: 3, updatedReplicas: 3, availableReplicas: 3 },
    }),
    indexes: { uid: ({ metadata: { uid = '' } }) => [uid] },
  });
  const ended = informer.run(stop.signal);
  await informer.synced;
  const ms = Math.round(performance.now() - begin);
  const used = heap() - before;
  console.log(`10,000 objects of ${wireEvent(0).length} bytes: ${used.toFixed(1)} MB of heap, listed in ${ms} ms`);
  expect(informer.size).toBe(10_000);
  expect(used).toBeLessThan(16);
  stop.abort();
  await ended;
});
