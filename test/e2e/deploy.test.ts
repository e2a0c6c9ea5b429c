/** The operator as people run it, two replicas in the cluster: deployed, restarted under load, removed without a trace. */
import { X509Certificate } from 'node:crypto';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kubeconfigOf } from '../../devcluster/instance.ts';
import { memcachedKind } from '../../src/api/index.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import type { Client } from '../../src/runtime/client/index.ts';
import { eventually, startCluster, stopCluster, type TestCluster } from '../support/cluster.ts';
import { deploy, type Said } from '../support/command-line.ts';
import { objectsOf } from '../support/lifecycle-manager.ts';
import { administrator, memcached } from '../support/memcacheds.ts';

const CLUSTER = { name: 'test-deploy', form: 'real' } as const;
const SYSTEM = ['--namespace', 'memcached-operator-system'];
const DEPLOYMENT = 'memcached-operator-controller-manager';
const SECRET = 'memcached-operator-webhook-certificate';

let cluster: TestCluster;
let client: Client;
/** Everything that the cluster had before. */
let before: ReadonlySet<string>;

beforeAll(async () => {
  await stopCluster(CLUSTER);
  cluster = await startCluster(CLUSTER);
  client = await administrator(cluster);
  before = await everything();
});

afterAll(async () => {
  await client?.close();
  await stopCluster(CLUSTER);
});

/** "Deployment default x" and the like, of whatever kind. Events pass by themselves, and nodes come with the time. */
async function everything(): Promise<Set<string>> {
  const kinds = (await cluster.kubectl(['api-resources', '--verbs=list', '-o', 'name'])).trim().split('\n');
  const looked = kinds.filter((kind) => !/^(events|componentstatuses)\b/.test(kind)).join(',');
  const columns = 'custom-columns=KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name';
  const lines = await cluster.kubectl(['get', looked, '--all-namespaces', '--no-headers', '-o', columns]);
  const found = lines
    .trim()
    .split('\n')
    .map((line) => line.replaceAll(/ +/g, ' '));
  return new Set(found.filter((line) => !line.startsWith('Lease kube-node-lease ')));
}

/** As somebody calls it who has a cluster and kubectl. */
function run(args: readonly string[], signal: AbortSignal, kubeconfig = kubeconfigOf(cluster.instance)): Promise<Said> {
  const { directory } = cluster.instance;
  // A commit meanwhile would make another image of the same sources.
  const env = { KUBECONFIG: kubeconfig, PATH: `${directory}:${process.env['PATH']}`, COMMIT: 'tested' };
  return deploy([...args, '--archive', join(directory, 'image.tar')], { env, signal });
}

interface Pod extends KubernetesObject {
  readonly spec: { readonly nodeName: string };
}

async function pods(): Promise<Pod[]> {
  const text = await cluster.kubectl([...SYSTEM, 'get', 'pods', '-o', 'json']);
  return (JSON.parse(text) as { items: Pod[] }).items.filter(({ metadata }) => !metadata.deletionTimestamp);
}

const namesOf = (list: readonly KubernetesObject[]) => list.map(({ metadata }) => metadata.name).toSorted();

test('what keeps it from running is said', async ({ signal }) => {
  await cluster.kubectl(['create', 'namespace', 'memcached-operator-system']);
  await cluster.kubectl([...SYSTEM, 'create', 'quota', 'none', '--hard=pods=0']);
  const said = await run(['up'], signal);
  expect(said).toMatchObject({ code: 1, stderr: expect.stringContaining('exceeded quota: none') });
  expect(said.stderr).toContain('what to do: ');
  await cluster.kubectl([...SYSTEM, 'delete', 'quota', 'none']);
});

test('deployed, it runs on both nodes, as restricted as can be; deployed again, nothing changes', async ({
  signal,
}) => {
  expect(await run(['up'], signal)).toMatchObject({ code: 0, stderr: '' });
  const running = await pods();
  expect(new Set(running.map(({ spec }) => spec.nodeName)).size).toBe(2);
  const label = 'jsonpath={.metadata.labels.pod-security\\.kubernetes\\.io/enforce}';
  expect(await cluster.kubectl(['get', 'namespace', 'memcached-operator-system', '-o', label])).toBe('restricted');
  expect(await run(['up'], signal)).toMatchObject({ code: 0, stderr: '' });
  expect(namesOf(await pods())).toEqual(namesOf(running));
});

test('it makes a Memcached true, and refuses one that cannot be', async ({ signal }) => {
  await cluster.kubectl(['apply', '-f', 'examples/basic-cache.yaml'], { signal });
  await cluster.kubectl(['wait', '--for=condition=Ready', 'mc/basic-cache', '--timeout=180s'], { signal });
  await cluster.kubectl(['scale', 'mc/basic-cache', '--replicas=2'], { signal }); // which has to be looked up
  await cluster.kubectl(['wait', '--for=jsonpath={.status.readyReplicas}=2', 'mc/basic-cache', '--timeout=180s'], {
    signal,
  });
  const broken = JSON.stringify(memcached('broken', { memcached: { maxMemoryMB: 64, maxItemSize: '700k' } }));
  const refusal = cluster.kubectl(['apply', '-f', '-'], { input: broken, signal });
  await expect(refusal).rejects.toThrow('spec.memcached.maxItemSize');
});

/** Changes what the operator is told, and waits until both replicas know. */
async function setArguments(args: readonly string[], signal: AbortSignal): Promise<void> {
  const patch = [{ op: 'add', path: '/spec/template/spec/containers/0/args', value: args }];
  const deployment = ['deployment', DEPLOYMENT];
  await cluster.kubectl([...SYSTEM, 'patch', ...deployment, '--type=json', '--patch', JSON.stringify(patch)]);
  await cluster.kubectl([...SYSTEM, 'rollout', 'status', ...deployment, '--timeout=180s'], { signal });
}

const servedCertificate = () =>
  cluster.kubectl([...SYSTEM, 'get', 'secret', SECRET, '-o', 'jsonpath={.data.tls\\.crt}']);

function isLongLived(base64: string): boolean {
  return new X509Certificate(Buffer.from(base64, 'base64')).validToDate.getTime() > Date.now() + 86_400_000;
}

const COUNT = 2000;
const PER_SECOND = 50;

/** A machine that is too slow for the pace slows down instead of piling up what it cannot do. */
const AT_ONCE = 25;

/** Creates Memcacheds that nobody makes true. */
async function createMany(isEnough: () => boolean, signal: AbortSignal) {
  const errors: string[] = [];
  let slowest = 0;
  let count = 0;
  const start = performance.now();
  const create = async (name: string) => {
    const since = performance.now();
    const object = memcached(name, { replicas: 0 }, { namespace: 'load' });
    await client.create(memcachedKind, object).catch((error: unknown) => void errors.push(`${name}: ${String(error)}`));
    slowest = Math.max(slowest, performance.now() - since);
  };
  const work = async () => {
    while (count < COUNT || !isEnough()) {
      const index = count++;
      const ms = start + (index * 1000) / PER_SECOND - performance.now();
      await sleep(Math.max(0, ms), undefined, { signal });
      await create(`cache-${index}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { count, errors, slowest: Math.round(slowest), seconds: Math.round((performance.now() - start) / 1000) };
}

async function restartUnderLoad(signal: AbortSignal) {
  const seen = new Set<string>();
  const done = new AbortController();
  let restarts = 0;
  const creating = createMany(() => restarts >= 2 && seen.size >= 3, signal).finally(() => done.abort());
  const watching = (async () => {
    for (; !done.signal.aborted; await sleep(500, undefined, { signal })) seen.add(await servedCertificate());
  })();
  for (; !done.signal.aborted; restarts += 1) {
    await cluster.kubectl([...SYSTEM, 'rollout', 'restart', 'deployment', DEPLOYMENT]);
    await cluster.kubectl([...SYSTEM, 'rollout', 'status', 'deployment', DEPLOYMENT, '--timeout=180s'], { signal });
  }
  const { count, errors, slowest, seconds } = await creating;
  await watching;
  console.log(
    `${count} creations in ${seconds} s, the slowest in ${slowest} ms, ${errors.length} failed; meanwhile both replicas were restarted ${restarts} times, with ${seen.size} certificates`,
  );
  return errors;
}

test('restarts and renewals every few seconds go unnoticed by 50 creations per second', { timeout: 900_000 }, async ({
  signal,
}) => {
  await cluster.kubectl(['create', 'namespace', 'load']);
  await setArguments(['--webhook-certificate-lifetime=20s', '--watch-namespaces=default'], signal);
  await eventually('certificates are short-lived', servedCertificate, (now) => !isLongLived(now), signal);

  const errors = await restartUnderLoad(signal);
  // Before the operator looks at that namespace again: it would make all of them true.
  await cluster.kubectl(['delete', 'namespace', 'load', '--timeout=300s'], { signal });
  expect(errors).toEqual([]);
  await setArguments([], signal);
  await eventually('certificates are long-lived again', servedCertificate, isLongLived, signal);
});

test('a deleted Secret and an edited configuration are put right', async ({ signal }) => {
  const certificate = await servedCertificate();
  await cluster.kubectl([...SYSTEM, 'delete', 'secret', SECRET]);
  let since = performance.now();
  const read = () => servedCertificate().catch(() => '');
  await eventually('it is back', read, (now) => now === certificate, signal);
  console.log(`the Secret was back after ${Math.round(performance.now() - since)} ms`);

  const configuration = ['validatingwebhookconfiguration', 'memcached-operator-validating-webhook-configuration'];
  const bundle = () =>
    cluster.kubectl(['get', ...configuration, '-o', 'jsonpath={.webhooks[0].clientConfig.caBundle}']);
  const right = await bundle();
  const path = '/webhooks/0/clientConfig/caBundle';
  await cluster.kubectl([
    'patch',
    ...configuration,
    '--type=json',
    '--patch',
    JSON.stringify([{ op: 'remove', path }]),
  ]);
  since = performance.now();
  await eventually('it is put right', bundle, (now) => now === right, signal);
  console.log(`the configuration was put right after ${Math.round(performance.now() - since)} ms`);
  const object = memcached('afterwards', { replicas: 0 });
  expect((await client.create(memcachedKind, object)).metadata.uid).toBeDefined();
});

const WEBHOOKS = [
  'mutatingwebhookconfigurations/memcached-operator-mutating-webhook-configuration',
  'validatingwebhookconfigurations/memcached-operator-validating-webhook-configuration',
];

test('without webhooks it serves the same, and says of a mistake what they would have said', async ({ signal }) => {
  await setArguments(['--enable-webhooks=false'], signal);
  await cluster.kubectl(['delete', ...WEBHOOKS]);
  await client.create(memcachedKind, memcached('unasked', {}));
  await client.create(memcachedKind, memcached('broken', { memcached: { maxMemoryMB: 64, maxItemSize: '700k' } }));
  await cluster.kubectl(['wait', '--for=condition=Ready', 'mc/unasked', '--timeout=180s'], { signal });
  await cluster.kubectl(['wait', '--for=condition=Degraded', 'mc/broken', '--timeout=180s'], { signal });
  const why = 'jsonpath={.status.conditions[?(@.type=="Degraded")].message}';
  expect(await cluster.kubectl(['get', 'mc/broken', '-o', why])).toContain('spec.memcached.maxItemSize');
  await cluster.kubectl(['delete', 'mc/broken', 'mc/unasked']);
  await setArguments([], signal);
  expect(await run(['up'], signal)).toMatchObject({ code: 0, stderr: '' });
});

test('removed without the definition, Memcacheds and their servers go on', async ({ signal }) => {
  const uid = () => cluster.kubectl(['get', 'deployment', 'basic-cache', '-o', 'jsonpath={.metadata.uid}']);
  const existing = await uid();
  expect(await run(['down', '--keep-crd'], signal)).toMatchObject({ code: 0, stderr: '' });
  expect(await cluster.kubectl(['get', 'mc', '-o', 'name'])).toContain('basic-cache');
  expect(await uid()).toBe(existing);
  const left = (await everything()).difference(before);
  expect([...left].filter((line) => /operator|webhook/i.test(line))).toEqual([]);
  await cluster.kubectl(['annotate', 'mc', 'basic-cache', 'nobody=answers']); // and nobody has to
});

test('removed, nothing of it is left', { timeout: 600_000 }, async ({ signal }) => {
  // On a cluster that is somebody else's, as far as it can tell: the image has to be there.
  const copy = `${kubeconfigOf(cluster.instance)}-copy`;
  await copyFile(kubeconfigOf(cluster.instance), copy);
  const said = await run(['up'], signal, copy);
  expect(said).toMatchObject({ code: 0, stderr: '', stdout: expect.not.stringContaining('image.tar') });
  expect(await run(['down'], signal)).toMatchObject({ code: 0, stderr: '' });
  const left = async () => [...(await everything()).difference(before)];
  expect(await eventually('nothing is left', left, ({ length }) => length === 0, signal)).toEqual([]);
  expect(await run(['down'], signal)).toEqual({ code: 0, stdout: 'the operator is gone\n', stderr: '' });
});

test('installed from its bundle, it runs with the permissions and the certificate that it is given', async ({
  signal,
}) => {
  await cluster.kubectl(['create', 'namespace', 'operators']);
  const items = await objectsOf('operators', 'ghcr.io/c5c3/memcached-operator:latest');
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], { input, signal });
  const rollout = ['-n', 'operators', 'rollout', 'status', 'deployment', DEPLOYMENT, '--timeout=180s'];
  await cluster.kubectl(rollout, { signal });
  const apply = () => cluster.kubectl(['apply', '-f', 'examples/basic-cache.yaml'], { signal });
  await eventually('every node knows where webhooks answer', apply, Boolean, signal);
  await cluster.kubectl(['wait', '--for=condition=Ready', 'mc/basic-cache', '--timeout=180s'], { signal });
  const broken = JSON.stringify(memcached('broken', { memcached: { maxMemoryMB: 64, maxItemSize: '700k' } }));
  const refusal = cluster.kubectl(['apply', '-f', '-'], { input: broken, signal });
  await expect(refusal).rejects.toThrow('spec.memcached.maxItemSize');
});
