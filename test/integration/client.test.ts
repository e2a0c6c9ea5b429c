/** The client against a real API server, also one that is killed or hangs. */
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { chosenRelease } from '../../devcluster/kubernetes.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import {
  type AccessOptions,
  type Client,
  type ClientOptions,
  createClient,
  findAccess,
  type WatchEvent,
} from '../../src/runtime/client/index.ts';
import { begunWatch, configMap, configMaps, failure } from '../support/client-cases.ts';
import { eventually, startCluster, stopCluster, type TestCluster } from '../support/cluster.ts';
import { killHard, pidsOf } from '../support/processes.ts';

// Servers before 1.32 stream lists only where they are told to.
const CLUSTER = { name: 'test-client', form: 'none', apiserverArgs: ['--feature-gates=WatchList=true'] } as const;
const deployments = { apiVersion: 'apps/v1', kind: 'Deployment', plural: 'deployments', namespaced: true };
const namespaces = { apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false };
const reviews = {
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'SelfSubjectReview',
  plural: 'selfsubjectreviews',
  namespaced: false,
};

interface ConfigMap extends KubernetesObject {
  readonly data?: Record<string, string>;
}

let cluster: TestCluster;
let client: Client;
let directory: string;

beforeAll(async () => {
  await stopCluster(CLUSTER);
  cluster = await startCluster(CLUSTER);
  directory = await mkdtemp(path.join(tmpdir(), 'client-'));
  client = await connect({});
});

afterAll(async () => {
  await client.close();
  await stopCluster(CLUSTER);
  await rm(directory, { recursive: true });
});

async function connect(access: Partial<AccessOptions>, options: Partial<ClientOptions> = {}): Promise<Client> {
  const found = await findAccess({ kubeconfig: adminKubeconfig(), env: {}, home: directory, ...access });
  return createClient({ access: found, userAgent: 'client-test/1', ...options });
}

/** Lives as long as the test. */
async function connectFor(...options: Parameters<typeof connect>): Promise<Client> {
  const made = await connect(...options);
  onTestFinished(() => made.close());
  return made;
}

const adminKubeconfig = () => path.join(cluster.instance.directory, 'kubeconfig');

/** The cluster's kubeconfig with another user in it. */
async function kubeconfigOf(name: string, user: object): Promise<string> {
  const config = parse(await readFile(adminKubeconfig(), 'utf8')) as { users: { user: object }[] };
  for (const entry of config.users) entry.user = user;
  const file = path.join(directory, name);
  await writeFile(file, stringify(config));
  return file;
}

interface Review extends KubernetesObject {
  readonly status?: { readonly userInfo: { readonly username: string; readonly extra?: Record<string, string[]> } };
}

/** Whom the server takes us for, and by which token. */
async function whoAmI(by: Client): Promise<{ name?: string | undefined; token?: string | undefined }> {
  const question: Review = { apiVersion: reviews.apiVersion, kind: reviews.kind, metadata: { name: '' } };
  const { status } = await by.create<Review>(reviews, question);
  const token = status?.userInfo.extra?.['authentication.kubernetes.io/credential-id']?.[0];
  return { name: status?.userInfo.username, token };
}

/** The server sends bookmarks when it likes. */
async function nextChange(watch: AsyncGenerator<WatchEvent, void>): Promise<WatchEvent | undefined> {
  for (;;) {
    const { value } = await watch.next();
    if (value?.type !== 'BOOKMARK') return value ?? undefined;
  }
}

const deployment = (name: string, replicas: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: 'default' },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image: 'none' }] } },
  },
});

test('all the verbs', async () => {
  const created = await client.create<ConfigMap>(configMaps, configMap('verbs', { a: '1' }));
  expect(created).toMatchObject({ data: { a: '1' }, metadata: { name: 'verbs', uid: expect.any(String) } });
  expect(await client.get(configMaps, 'verbs', 'default')).toEqual(created);
  const merged = { type: 'merge', body: { data: { b: '2' } } } as const;
  expect(await client.patch(configMaps, 'verbs', 'default', merged)).toMatchObject({ data: { a: '1', b: '2' } });
  const body = [
    { op: 'test', path: '/metadata/uid', value: created.metadata.uid },
    { op: 'remove', path: '/data/a' },
  ];
  expect(await client.patch(configMaps, 'verbs', 'default', { type: 'json', body })).toMatchObject({
    data: { b: '2' },
  });
  const { items } = await client.list<ConfigMap>(configMaps, {
    namespace: 'default',
    fieldSelector: 'metadata.name=verbs',
  });
  expect(items.map(({ data }) => data)).toEqual([{ b: '2' }]);
  await client.delete(configMaps, 'verbs', 'default', { propagationPolicy: 'Background' });
  expect(await failure(client.get(configMaps, 'verbs', 'default'))).toMatchObject({ status: 404, reason: 'NotFound' });
  expect(await client.get(namespaces, 'default')).toMatchObject({ metadata: { name: 'default' } });
  expect(JSON.parse(await client.raw('/version'))).toMatchObject({ gitVersion: chosenRelease().version });
  expect(await client.raw('/readyz')).toBe('ok');
});

test('server-side apply, of an object and of its status', async () => {
  const fieldManager = 'client-test';
  const apply = (replicas: number, force?: boolean) =>
    client.apply(deployments, deployment('applied', replicas), { fieldManager, force });
  expect(await apply(1)).toMatchObject({
    spec: { replicas: 1 },
    metadata: { managedFields: [{ operation: 'Apply' }] },
  });
  expect(await apply(2)).toMatchObject({ spec: { replicas: 2 } });
  await client.patch(deployments, 'applied', 'default', { type: 'merge', body: { spec: { replicas: 3 } } });
  expect(await failure(apply(2))).toMatchObject({
    status: 409,
    reason: 'Conflict',
    details: { causes: [{ field: '.spec.replicas', reason: 'FieldManagerConflict' }] },
  });
  expect(await apply(2, true)).toMatchObject({ spec: { replicas: 2 } });
  const condition = { type: 'Tested', status: 'True', reason: 'Test', message: '' };
  const { apiVersion, kind, metadata } = deployment('applied', 1);
  const status = { apiVersion, kind, metadata, status: { conditions: [condition] } };
  expect(await client.apply(deployments, status, { fieldManager, subresource: 'status' })).toMatchObject({
    status: { conditions: expect.arrayContaining([expect.objectContaining({ type: 'Tested' })]) },
  });
});

test('what the server refuses, by its fields', async () => {
  await client.create(configMaps, configMap('refused'));
  expect(await failure(client.create(configMaps, configMap('refused')))).toMatchObject({
    name: 'ApiError',
    status: 409,
    reason: 'AlreadyExists',
    details: { name: 'refused', kind: 'configmaps' },
  });
  expect(await failure(client.create(configMaps, configMap('Not A Name')))).toMatchObject({
    status: 422,
    reason: 'Invalid',
    details: { causes: [{ field: 'metadata.name' }] },
  });
  const unknown = { ...configMaps, apiVersion: 'nowhere/v1' };
  expect(await failure(client.get(unknown, 'a', 'default'))).toMatchObject({ status: 404, reason: '' });
  const watch = client.watch(configMaps, { labelSelector: '!!', signal: new AbortController().signal });
  expect(await failure(watch.next())).toMatchObject({ name: 'ApiError', status: 400, reason: 'BadRequest' });
});

test('create-only apply: the resourceVersion that no object has', async () => {
  const object = configMap('only-new');
  const onlyNew = { ...object, metadata: { ...object.metadata, resourceVersion: '1' } };
  const apply = () => client.apply(configMaps, onlyNew, { fieldManager: 'client-test', force: true });
  const made = await Promise.all(Array.from({ length: 12 }, () => apply().catch((error: unknown) => error)));
  expect(made.filter((one) => (one as KubernetesObject).kind === 'ConfigMap')).toHaveLength(1);
  expect(made.filter((one) => (one as { status?: number }).status === 409)).toHaveLength(11);
});

test('only this very object: uid and resourceVersion as conditions', async () => {
  const object = await client.create<ConfigMap>(configMaps, configMap('conditions'));
  const { uid = '' } = object.metadata;
  const other = '00000000-0000-0000-0000-000000000000';
  const applied = (name: string, id: string) =>
    client.apply(
      configMaps,
      { ...object, metadata: { name, namespace: 'default', uid: id } },
      { fieldManager: 'client-test' },
    );
  expect(await failure(applied('conditions', other))).toMatchObject({ status: 422 });
  expect(await failure(applied('conditions-absent', uid))).toMatchObject({ status: 409 });
  expect(await applied('conditions', uid)).toMatchObject({ metadata: { uid } });
  const remove = (conditions: object) => client.delete(configMaps, 'conditions', 'default', conditions);
  expect(await failure(remove({ uid: other }))).toMatchObject({ status: 409, reason: 'Conflict' });
  expect(await failure(remove({ uid, resourceVersion: '1' }))).toMatchObject({ status: 409 });
  await remove({ uid, propagationPolicy: 'Orphan' });
});

test('lists: in pages, by label, metadata only', async () => {
  const labels = { test: 'lists' };
  for (const name of ['l1', 'l2', 'l3']) {
    const object = configMap(name, { big: 'x' });
    await client.create(configMaps, { ...object, metadata: { ...object.metadata, labels } });
  }
  const query = { labelSelector: 'test=lists', limit: 2 } as const;
  const first = await client.list<ConfigMap>(configMaps, query);
  const rest = await client.list<ConfigMap>(configMaps, { ...query, continue: first.metadata.continue });
  expect([...first.items, ...rest.items].map(({ metadata }) => metadata.name)).toEqual(['l1', 'l2', 'l3']);
  expect(first.items).toMatchObject([{ apiVersion: 'v1', kind: 'ConfigMap' }, { data: { big: 'x' } }]);
  for (const metadataOnly of [true, false]) {
    expect((await client.list(configMaps, { labelSelector: 'test=none', metadataOnly })).items).toEqual([]);
  }
  const lean = await client.list<ConfigMap>(configMaps, { ...query, namespace: 'default', metadataOnly: true });
  expect(lean.items[0]).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { labels } });
  expect(lean.items[0]).not.toHaveProperty('data');
  const one = await client.get(configMaps, 'l1', 'default', { metadataOnly: true });
  expect(one).not.toHaveProperty('data');
});

test.for([true, false])('a streaming list, then changes; metadata only: %s', async (metadataOnly) => {
  const name = `streamed-${metadataOnly}`;
  await client.create(configMaps, configMap(name, { a: '1' }));
  const stop = new AbortController();
  const fieldSelector = `metadata.name=${name}`;
  const watch = client.watch(configMaps, {
    namespace: 'default',
    fieldSelector,
    metadataOnly,
    sendInitialEvents: true,
    signal: stop.signal,
  });
  const first = await watch.next();
  expect(first).toMatchObject({ value: { type: 'ADDED', object: { metadata: { name } } } });
  expect('data' in (first.value as { object: object }).object).toBe(!metadataOnly);
  expect(await watch.next()).toMatchObject({
    value: { type: 'BOOKMARK', object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } } },
  });
  await client.patch(configMaps, name, 'default', { type: 'merge', body: { data: { a: '€' } } });
  const content = metadataOnly ? {} : { data: { a: '€' } };
  expect(await nextChange(watch)).toMatchObject({ type: 'MODIFIED', object: content });
  await client.delete(configMaps, name, 'default');
  expect(await nextChange(watch)).toMatchObject({ type: 'DELETED' });
  stop.abort();
  expect(await watch.next()).toEqual({ done: true, value: undefined });
});

test('a watch ends when its time is over', async ({ signal }) => {
  const short = client.watch(configMaps, { timeoutSeconds: 1, sendInitialEvents: true, signal });
  let last = await short.next();
  while (!last.done) last = await short.next();
  expect(last.done).toBe(true);
});

test('150 watches and many requests, on few connections', async () => {
  const connections: string[] = [];
  const busy = await connectFor({}, { onConnection: ({ purpose, state }) => connections.push(`${purpose} ${state}`) });
  await busy.create(configMaps, configMap('busy'));
  const stop = new AbortController();
  const watch = async () => {
    const events = busy.watch(configMaps, {
      sendInitialEvents: true,
      fieldSelector: 'metadata.name=busy',
      signal: stop.signal,
    });
    await events.next();
    await events.next();
    return events;
  };
  const watches = await Promise.all(Array.from({ length: 150 }, watch));
  const requests = 2000;
  const begin = performance.now();
  const got = Array.from({ length: requests }, () => busy.get<ConfigMap>(configMaps, 'busy', 'default'));
  await Promise.all(got);
  const perSecond = requests / ((performance.now() - begin) / 1000);
  await busy.patch(configMaps, 'busy', 'default', { type: 'merge', body: { data: { b: '1' } } });
  const changed = await Promise.all(watches.map(nextChange));
  for (const event of changed) expect(event).toMatchObject({ type: 'MODIFIED' });
  stop.abort();
  console.log(`${perSecond.toFixed(0)} GETs per second beside 150 watches; connections: ${connections.join(', ')}`);
  expect(connections.toSorted()).toEqual(['requests open', 'watches open', 'watches open']);
});

test('kill -9 of the API server: watches end, and everything goes on when it is back', async ({ signal }) => {
  const connections: string[] = [];
  const survivor = await connectFor(
    {},
    { onConnection: ({ purpose, state }) => connections.push(`${purpose} ${state}`) },
  );
  const watch = await begunWatch(survivor, signal);
  await survivor.create(configMaps, configMap('before'));
  const { 'kube-apiserver': pid } = await pidsOf(cluster.instance, ['kube-apiserver']);
  await killHard(pid);
  const drained = async () => {
    for await (const event of watch) expect(event.type).not.toBe('ERROR');
  };
  expect(await failure(drained())).toMatchObject({ name: 'ConnectionLost' });
  expect(await failure(survivor.create(configMaps, configMap('meanwhile')))).toMatchObject({ name: 'ConnectionLost' });
  await startCluster({ ...CLUSTER, signal });
  const isThere = (seen: KubernetesObject) => seen.metadata.name === 'before';
  await eventually('it answers again', () => survivor.get(configMaps, 'before', 'default'), isThere, signal);
  await begunWatch(survivor, signal);
  console.log(`connections: ${connections.join(', ')}`);
});

test('an API server that hangs is noticed by pings', async ({ signal }) => {
  const limits = { pingIntervalMs: 500, pingTimeoutMs: 5_000 };
  const patient = await connectFor({}, { limits });
  const watch = await begunWatch(patient, signal);
  const { 'kube-apiserver': pid = '' } = await pidsOf(cluster.instance, ['kube-apiserver']);
  process.kill(Number(pid), 'SIGSTOP');
  try {
    const drained = async () => {
      for await (const event of watch) expect(event.type).not.toBe('ERROR');
    };
    expect(await failure(drained())).toMatchObject({ name: 'ConnectionLost', reason: 'silent' });
  } finally {
    process.kill(Number(pid), 'SIGCONT');
  }
  const isThere = (seen: KubernetesObject) => seen.metadata.name === 'default';
  await eventually('it answers again', () => patient.get(namespaces, 'default'), isThere, signal);
});

test('a token file that is rotated, broken and repaired', async () => {
  await cluster.kubectl(['create', 'serviceaccount', 'rotated']);
  const newToken = () => cluster.kubectl(['create', 'token', 'rotated', '--duration=1h']);
  const file = path.join(directory, 'token');
  await writeFile(file, await newToken());
  let time = 0;
  const surroundings = { read: (name: string) => readFile(name, 'utf8'), now: () => time, elapsed: () => time };
  const kubeconfig = await kubeconfigOf('rotated', { tokenFile: 'token' });
  const tenant = await connectFor({ kubeconfig, surroundings });
  const first = await whoAmI(tenant);
  expect(first).toMatchObject({
    name: 'system:serviceaccount:default:rotated',
    token: expect.stringContaining('JTI='),
  });
  expect(await failure(tenant.get(configMaps, 'a', 'default'))).toMatchObject({ status: 403, reason: 'Forbidden' });

  await writeFile(file, await newToken());
  expect(await whoAmI(tenant)).toEqual(first);
  time += 60_000;
  const second = await whoAmI(tenant);
  expect(second).toMatchObject({ name: first.name });
  expect(second.token).not.toBe(first.token);

  await writeFile(file, 'rubbish');
  time += 60_000;
  expect(await failure(whoAmI(tenant))).toMatchObject({ status: 401, reason: 'Unauthorized' });
  await writeFile(file, await newToken());
  expect(await whoAmI(tenant)).toMatchObject({ name: first.name });
});

test('a credential plugin, and acting for someone else', async () => {
  const status = { token: (await cluster.kubectl(['create', 'token', 'default'])).trim() };
  const apiVersion = 'client.authentication.k8s.io/v1';
  const plugin = path.join(directory, 'login');
  await writeFile(plugin, `#!/bin/sh\necho '${JSON.stringify({ apiVersion, kind: 'ExecCredential', status })}'\n`);
  await chmod(plugin, 0o755);
  const kubeconfig = await kubeconfigOf('exec', { exec: { apiVersion, command: './login' } });
  const byPlugin = await connectFor({ kubeconfig, env: { PATH: '/usr/bin:/bin' } });
  expect(await whoAmI(byPlugin)).toMatchObject({ name: 'system:serviceaccount:default:default' });

  const { users } = parse(await readFile(adminKubeconfig(), 'utf8')) as { users: [{ user: object }] };
  const asJane = await kubeconfigOf('jane', { ...users[0].user, as: 'jane', 'as-groups': ['a', 'b'] });
  expect(await whoAmI(await connectFor({ kubeconfig: asJane }))).toMatchObject({ name: 'jane' });
});
