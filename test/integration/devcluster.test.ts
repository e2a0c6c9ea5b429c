/** The launcher with a bare control plane: one cluster, healed, beside another, and gone. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addresses } from '../../devcluster/instance.ts';
import { networkNamespace } from '../../devcluster/namespaces.ts';
import { Problem } from '../../devcluster/problem.ts';
import { eventually, ROOT, startCluster, stopCluster, type TestCluster } from '../support/cluster.ts';
import { machineState, namespacesOf, pinnedNamespaces, processesOf } from '../support/traces.ts';

const NAME = 'test-bare';
const CONTROL_PLANE = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];

let cluster: TestCluster;
let before: string[];

async function pids(of: TestCluster): Promise<Record<string, string>> {
  const lines = await processesOf(of.instance, []);
  return Object.fromEntries(
    CONTROL_PLANE.map((name) => [name, lines.find((line) => line.includes(`/${name} `))?.split(' ')[0] ?? '']),
  );
}

beforeAll(async () => {
  await stopCluster({ name: NAME });
  before = await machineState();
  cluster = await startCluster({ name: NAME, form: 'none', audit: true });
  await cluster.kubectl(['create', 'configmap', 'kept', '--from-literal=answer=42']);
});

afterAll(async () => {
  await stopCluster({ name: NAME });
});

test('serves Kubernetes 1.36 under the kubeconfig of its directory', async () => {
  expect(JSON.parse(await cluster.kubectl(['version', '-o', 'json']))).toMatchObject({
    serverVersion: { major: '1', minor: '36' },
  });
  expect((await stat(path.join(cluster.instance.directory, 'kubeconfig'))).mode & 0o777).toBe(0o600);
});

test('started twice it is one cluster, of the same processes', async () => {
  const first = await pids(cluster);
  const again = await startCluster({ name: NAME, form: 'none', audit: true });
  expect(again.instance).toEqual(cluster.instance);
  expect(again.printed).toContain('parts: cached');
  expect(again.printed).not.toContain('started');
  expect(await pids(again)).toEqual(first);
  expect(Object.values(first)).not.toContain('');
});

test.each(CONTROL_PLANE)('heals after kill -9 of %s', async (name) => {
  const first = await pids(cluster);
  process.kill(Number(first[name]), 'SIGKILL');
  await startCluster({ name: NAME, form: 'none', audit: true });
  const { [name]: restarted, ...others } = await pids(cluster);
  const { [name]: killed, ...untouched } = first;
  expect(restarted).toMatch(/^\d+$/);
  expect(restarted).not.toBe(killed);
  expect(others).toEqual(untouched);
  expect(await cluster.kubectl(['get', 'configmap', 'kept', '-o', 'jsonpath={.data.answer}'])).toBe('42');
});

test('heals after kill -9 of all its processes', async () => {
  for (const pid of Object.values(await pids(cluster))) process.kill(Number(pid), 'SIGKILL');
  await startCluster({ name: NAME, form: 'none', audit: true });
  expect(await cluster.kubectl(['get', 'configmap', 'kept', '-o', 'jsonpath={.data.answer}'])).toBe('42');
});

test('counts what each client asks, by its user agent', async ({ signal }) => {
  await cluster.kubectl(['get', 'configmap', 'kept']);
  const log = await eventually(
    'the audit log has the request',
    () => readFile(path.join(cluster.instance.directory, 'audit.log'), 'utf8'),
    (text) => text.includes('/configmaps/kept'),
    signal,
  );
  const events = log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { userAgent?: string; requestURI: string });
  const asked = events.filter(({ requestURI }) => requestURI.includes('/configmaps/kept'));
  expect(asked.map(({ userAgent }) => userAgent)).toContainEqual(expect.stringMatching(/^kubectl\//));
});

test('enforces the permission on finalizers that owner references need', async () => {
  const plugins = (await processesOf(cluster.instance, [])).find((line) => line.includes('/kube-apiserver '));
  expect(plugins).toContain('OwnerReferencesPermissionEnforcement');
});

test('a second cluster runs beside it, and neither notices the other', async () => {
  const first = await pids(cluster);
  const state = await machineState();
  const other = await startCluster({ name: 'test-beside', form: 'none' });
  try {
    expect(other.instance.block).not.toBe(cluster.instance.block);
    await other.kubectl(['create', 'configmap', 'elsewhere']);
    expect(await other.kubectl(['get', 'configmaps', '-o', 'name'])).not.toContain('kept');
    expect(await cluster.kubectl(['get', 'configmaps', '-o', 'name'])).not.toContain('elsewhere');
  } finally {
    await stopCluster({ name: 'test-beside' });
  }
  expect(await pids(cluster)).toEqual(first);
  expect(await machineState()).toEqual(state);
  expect(await cluster.kubectl(['get', 'configmap', 'kept', '-o', 'name'])).toContain('kept');
});

test('a cluster whose clone was deleted is cleared away by the next start', async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'deleted-clone-'));
  const lost = await startCluster({ name: 'test-lost', form: 'none', root });
  const namespaces = await namespacesOf(lost.instance);
  await rm(root, { recursive: true, force: true });
  expect((await processesOf(lost.instance, namespaces)).length).toBeGreaterThan(0);
  const { printed } = await startCluster({ name: NAME, form: 'none', audit: true });
  expect(printed).toContain(`removing what is left of ${lost.instance.directory}`);
  expect(await processesOf(lost.instance, namespaces)).toEqual([]);
});

describe('bad situations say what to do', () => {
  async function problemOf(attempt: Promise<unknown>): Promise<Problem> {
    const failure = await attempt.then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(Problem);
    return failure as Problem;
  }

  test('another form than the cluster has', async () => {
    const problem = await problemOf(startCluster({ name: NAME, form: 'fake' }));
    expect(problem.message).toContain('NODE=none');
    expect(problem.remedy).toContain('make cluster-down');
  });

  test('a port in use', async () => {
    const { apiserver } = addresses(cluster.instance);
    process.kill(Number((await pids(cluster))['kube-apiserver']), 'SIGKILL');
    const intruder = await listenInside(cluster, apiserver, 6443);
    try {
      const problem = await problemOf(startCluster({ name: NAME, form: 'none', audit: true }));
      expect(problem.message).toContain(`cannot listen on ${apiserver}:6443`);
      expect(problem.message).toContain(`pid=${intruder.pid}`);
      expect(problem.remedy).toContain(`kill ${intruder.pid}`);
    } finally {
      intruder.kill('SIGKILL');
      await new Promise((resolve) => intruder.once('exit', resolve));
    }
    await startCluster({ name: NAME, form: 'none', audit: true });
    expect(await cluster.kubectl(['get', 'configmap', 'kept', '-o', 'name'])).toContain('kept');
  });

  test('no Go, with nothing built', async () => {
    const empty = await mkdtemp(path.join(tmpdir(), 'no-go-'));
    const said = await commandLine(['program', 'kustomize'], { PATH: '/usr/bin:/bin', DEVCLUSTER_CACHE: empty });
    expect(said).toMatchObject({ code: 1, stderr: expect.stringContaining('Go is not installed') });
    expect(said.stderr).toContain('what to do: Install Go');
    await rm(empty, { recursive: true });
  });

  test('a full disk', async () => {
    const small = await mkdtemp(path.join(tmpdir(), 'small-disk-'));
    await command('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', small]);
    try {
      const said = await commandLine(['program', 'kustomize'], { DEVCLUSTER_CACHE: path.join(small, 'cache') });
      expect(said).toMatchObject({ code: 1, stderr: expect.stringContaining('GiB of free disk') });
      expect(said.stderr).toContain('what to do: Free some space');
    } finally {
      await command('umount', [small]);
      await rm(small, { recursive: true });
    }
  });

  test.each([
    [['up', '--node', 'imaginary'], 'Use one of: real, none, fake.'],
    [['up', '--name', 'No Such'], 'lower-case letters'],
    [['up', '--fake-nodes', 'many', '--node', 'fake'], 'a whole number'],
    [['frobnicate'], 'See --help.'],
    [['up', '--frobnicate'], 'See --help.'],
  ])('the arguments %j', async (args, remedy) => {
    expect(await commandLine(args)).toMatchObject({ code: 1, stderr: expect.stringContaining(remedy) });
  });
});

test('Ctrl-C during a build stops it, and the next run goes on', async () => {
  const cache = await mkdtemp(path.join(tmpdir(), 'interrupted-'));
  const env = { DEVCLUSTER_CACHE: cache };
  let interrupted = false;
  const stopped = await commandLine(['program', 'memcached_exporter'], env, (child, stderr) => {
    if (interrupted || !stderr.includes('building')) return;
    interrupted = child.kill('SIGINT');
  });
  expect(stopped).toMatchObject({ code: 130, stderr: expect.stringContaining('the same command goes on from here') });
  const resumed = await commandLine(['program', 'memcached_exporter'], env);
  expect(resumed.code).toBe(0);
  expect((await stat(resumed.stdout.trim())).mode & 0o111).not.toBe(0);
  expect((await commandLine(['program', 'memcached_exporter'], env)).stderr).toContain('1 part: cached');
  await rm(cache, { recursive: true });
});

test('removed, it leaves nothing; removed again, it is quiet', async () => {
  const namespaces = await namespacesOf(cluster.instance);
  expect(namespaces.length).toBeGreaterThan(0);
  expect(await stopCluster({ name: NAME })).toBe(true);
  expect(await processesOf(cluster.instance, namespaces)).toEqual([]);
  expect(await pinnedNamespaces(namespaces)).toEqual([]);
  expect(await machineState()).toEqual(before);
  await expect(stat(cluster.instance.directory)).rejects.toThrow('ENOENT');
  expect(await commandLine(['down', '--name', NAME])).toEqual({ code: 0, stdout: '', stderr: '' });
});

interface Said {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the launcher as a person would. */
function commandLine(
  args: readonly string[],
  env: Record<string, string> = {},
  onError?: (child: ChildProcess, stderr: string) => void,
): Promise<Said> {
  return command(process.execPath, [path.join(ROOT, 'devcluster/main.ts'), ...args], env, onError);
}

function command(
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
  onError?: (child: ChildProcess, stderr: string) => void,
): Promise<Said> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      stdout += chunk;
    });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      stderr += chunk;
      onError?.(child, stderr);
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** A foreign process that holds a port in the cluster's network. */
function listenInside(of: TestCluster, host: string, port: number): Promise<ChildProcess> {
  const script = `require('node:net').createServer().listen(${port}, '${host}', () => console.log('listening'))`;
  const child = spawn('nsenter', [`--net=${networkNamespace(of.instance)}`, process.execPath, '-e', script]);
  return new Promise((resolve, reject) => {
    child.stdout.once('data', () => resolve(child));
    child.once('error', reject);
    child.once('exit', () => reject(new Error('the intruder ended')));
  });
}
