/** The launcher with a bare control plane: one cluster, healed, beside another, and gone. */
import { randomUUID } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { findInstance, instanceDirectory } from '../../devcluster/instance.ts';
import { eventually, startCluster, stopCluster, type TestCluster } from '../support/cluster.ts';
import { launcher } from '../support/command-line.ts';
import { keptNamespacesOf, killHard, pidsOf, pinnedNamespaces, processesOf } from '../support/processes.ts';
import { changesSince, type MachineState, machineState } from '../support/traces.ts';

const BARE = { name: 'test-bare', form: 'none', audit: true } as const;
const CONTROL_PLANE = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];

let cluster: TestCluster;
let before: MachineState;

beforeAll(async () => {
  await stopCluster(BARE);
  before = await machineState();
  cluster = await startCluster(BARE);
  await cluster.kubectl(['create', 'configmap', 'kept', '--from-literal=answer=42']);
});

afterAll(async () => {
  await stopCluster(BARE);
});

/** What the cluster was told before anything happened to it. */
function remembered(): Promise<string> {
  return cluster.kubectl(['get', 'configmap', 'kept', '-o', 'jsonpath={.data.answer}']);
}

/** Until the controller manager has done something. */
async function untilControllersWork(signal: AbortSignal): Promise<void> {
  const namespace = `worked-${randomUUID()}`;
  await cluster.kubectl(['create', 'namespace', namespace]);
  const accounts = () => cluster.kubectl(['get', 'serviceaccounts', '--namespace', namespace, '-o', 'name']);
  await eventually('a namespace has its account', accounts, (seen) => seen.includes('default'), signal);
}

test('serves Kubernetes 1.36 under the kubeconfig of its directory', async () => {
  expect(JSON.parse(await cluster.kubectl(['version', '-o', 'json']))).toMatchObject({
    serverVersion: { major: '1', minor: '36' },
  });
  expect((await stat(path.join(cluster.instance.directory, 'kubeconfig'))).mode & 0o777).toBe(0o600);
});

test('started twice it is one cluster, of the same processes', async ({ signal }) => {
  const first = await pidsOf(cluster.instance, CONTROL_PLANE);
  const again = await startCluster({ ...BARE, signal });
  expect(again.instance).toEqual(cluster.instance);
  expect(again.printed).toContain('parts: cached');
  expect(again.printed).not.toContain('started');
  expect(await pidsOf(again.instance, CONTROL_PLANE)).toEqual(first);
  expect(Object.values(first)).not.toContain('');
});

test.for(CONTROL_PLANE)('heals after kill -9 of %s', async (name, { signal }) => {
  await untilControllersWork(signal); // while it starts, the controller manager does not survive the loss of its API
  const { [name]: killed, ...untouched } = await pidsOf(cluster.instance, CONTROL_PLANE);
  await killHard(killed);
  await startCluster({ ...BARE, signal });
  const { [name]: restarted, ...others } = await pidsOf(cluster.instance, CONTROL_PLANE);
  expect(restarted).toMatch(/^\d+$/);
  expect(restarted).not.toBe(killed);
  expect(others).toEqual(untouched);
  expect(await remembered()).toBe('42');
});

test('heals after kill -9 of all its processes', async ({ signal }) => {
  await Promise.all(Object.values(await pidsOf(cluster.instance, CONTROL_PLANE)).map(killHard));
  await startCluster({ ...BARE, signal });
  expect(await remembered()).toBe('42');
});

test('logs every request once, with the user agent', async ({ signal }) => {
  const requests = 40;
  for (let sent = 0; sent < requests; sent += 1) await askAs('counted-client/1.0');
  await askAs('last-client/1.0'); // the log keeps the order: what comes after it has been asked after it
  const agents = async () => {
    const lines = (await readFile(path.join(cluster.instance.directory, 'audit.log'), 'utf8')).trim().split('\n');
    return lines.map((line) => (JSON.parse(line) as { userAgent?: string }).userAgent);
  };
  const isComplete = (seen: unknown[]) => seen.includes('last-client/1.0');
  const seen = await eventually('the log has the last request', agents, isComplete, signal);
  expect(seen.filter((agent) => agent === 'counted-client/1.0')).toHaveLength(requests);
});

test('owner references that block deletion need the permission on the owner’s finalizers', async ({ signal }) => {
  const jane = ['--as=jane'];
  const may = (...what: string[]) => cluster.kubectl(['auth', 'can-i', ...jane, ...what]).catch(String);
  const grant = async (...what: string[]) => {
    const [verb = '', resource = '', role = ''] = what;
    await cluster.kubectl(['create', 'role', role, `--verb=${verb}`, `--resource=${resource}`]);
    await cluster.kubectl(['create', 'rolebinding', role, `--role=${role}`, '--user=jane']);
    const [kind = '', subresource] = resource.split('/');
    const question = [verb, kind, ...(subresource ? [`--subresource=${subresource}`] : [])];
    await eventually(
      `jane may ${verb} ${resource}`,
      () => may(...question),
      (said) => said === 'yes\n',
      signal,
    );
  };
  const uid = await cluster.kubectl(['get', 'configmap', 'kept', '-o', 'jsonpath={.metadata.uid}']);
  const create = (name: string, blockOwnerDeletion: boolean) => {
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'kept', uid, blockOwnerDeletion }];
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ownerReferences } });
    return cluster.kubectl(['create', ...jane, '-o', 'name', '-f', '-'], { input });
  };
  await grant('create', 'configmaps', 'creator');
  expect(await create('not-blocking', false)).toBe('configmap/not-blocking\n');
  const refusal: unknown = await create('blocking', true).catch((error: unknown) => error);
  expect(String(refusal)).toContain('(Forbidden)');
  expect(String(refusal)).toContain('cannot set blockOwnerDeletion');
  await grant('update', 'configmaps/finalizers', 'finalizer');
  expect(await create('blocking', true)).toBe('configmap/blocking\n');
});

test('a second cluster runs beside it, and neither notices the other', async ({ signal }) => {
  const first = await pidsOf(cluster.instance, CONTROL_PLANE);
  const state = await machineState();
  const other = await startCluster({ name: 'test-beside', form: 'none', signal });
  try {
    expect(other.instance.block).not.toBe(cluster.instance.block);
    await other.kubectl(['create', 'configmap', 'elsewhere']);
    expect(await other.kubectl(['get', 'configmaps', '-o', 'name'])).not.toContain('kept');
    expect(await cluster.kubectl(['get', 'configmaps', '-o', 'name'])).not.toContain('elsewhere');
  } finally {
    await stopCluster({ name: 'test-beside' });
  }
  expect(await pidsOf(cluster.instance, CONTROL_PLANE)).toEqual(first);
  expect(await changesSince(state, [cluster.instance, other.instance])).toEqual([]);
  expect(await remembered()).toBe('42');
});

test('a copy of the clone has clusters of its own', async ({ onTestFinished }) => {
  const first = await pidsOf(cluster.instance, CONTROL_PLANE);
  const copy = await mkdtemp(path.join(tmpdir(), 'copied-clone-'));
  onTestFinished(() => rm(copy, { recursive: true, force: true }));
  const directory = instanceDirectory(copy, BARE.name);
  await mkdir(directory);
  await cp(path.join(cluster.instance.directory, 'instance.json'), path.join(directory, 'instance.json'));
  const found = await findInstance(copy, BARE.name);
  expect(found).toMatchObject({ name: BARE.name, directory });
  expect(found?.id).not.toBe(cluster.instance.id);
  expect(found?.runDirectory).not.toBe(cluster.instance.runDirectory);
  await stopCluster({ ...BARE, root: copy });
  expect(await pidsOf(cluster.instance, CONTROL_PLANE)).toEqual(first);
  expect(await remembered()).toBe('42');
});

/** Whether the next start says that it clears away the cluster: on this machine another one may be faster. */
async function isClearedAway(signal: AbortSignal): Promise<boolean> {
  const root = await mkdtemp(path.join(tmpdir(), 'deleted-clone-'));
  const lost = await startCluster({ name: 'test-lost', form: 'none', root, signal });
  const namespaces = await keptNamespacesOf(lost.instance);
  expect((await processesOf(lost.instance, namespaces)).length).toBeGreaterThan(0);
  await rm(root, { recursive: true, force: true });
  const { printed } = await startCluster({ ...BARE, signal });
  expect(await processesOf(lost.instance, namespaces)).toEqual([]);
  expect(await pinnedNamespaces(namespaces)).toEqual([]);
  await expect(stat(lost.instance.runDirectory)).rejects.toThrow('ENOENT');
  return printed.includes(`removing what is left of ${lost.instance.directory}`);
}

test('a cluster whose clone was deleted is cleared away by the next start', async ({ signal }) => {
  let isSaid = false;
  for (let tries = 0; tries < 5 && !isSaid; tries += 1) isSaid = await isClearedAway(signal);
  expect(isSaid).toBe(true);
});

test('removed, it leaves nothing; removed again, it is quiet', async ({ signal }) => {
  const namespaces = await keptNamespacesOf(cluster.instance);
  expect(namespaces.length).toBeGreaterThan(0);
  expect(await stopCluster(BARE)).toBe(true);
  expect(await processesOf(cluster.instance, namespaces)).toEqual([]);
  expect(await pinnedNamespaces(namespaces)).toEqual([]);
  expect(await changesSince(before, [cluster.instance])).toEqual([]);
  await expect(stat(cluster.instance.directory)).rejects.toThrow('ENOENT');
  expect(await launcher(['down', '--name', BARE.name], { signal })).toEqual({ code: 0, stdout: '', stderr: '' });
});

/** One request of a client that says who it is, which kubectl cannot. */
async function askAs(agent: string): Promise<void> {
  const text = await readFile(path.join(cluster.instance.directory, 'kubeconfig'), 'utf8');
  const { clusters, users } = parse(text) as {
    clusters: [{ cluster: Record<string, string> }];
    users: [{ user: Record<string, string> }];
  };
  const pem = (data = '') => Buffer.from(data, 'base64');
  const status = await new Promise((resolve, reject) => {
    const options = {
      ca: pem(clusters[0].cluster['certificate-authority-data']),
      cert: pem(users[0].user['client-certificate-data']),
      key: pem(users[0].user['client-key-data']),
      headers: { 'user-agent': agent },
    };
    request(new URL('/api/v1/namespaces/default', clusters[0].cluster['server']), options, (response) => {
      response.resume().once('end', () => resolve(response.statusCode));
    })
      .once('error', reject)
      .end();
  });
  expect(status).toBe(200);
}
