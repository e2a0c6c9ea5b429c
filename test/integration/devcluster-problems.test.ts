/** The launcher in bad situations: it says what to do, leaves nothing half-done, and the next try works. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { openDebian } from '../../devcluster/images/debian.ts';
import { addresses, placeOf } from '../../devcluster/instance.ts';
import { networkNamespace } from '../../devcluster/namespaces.ts';
import { Problem } from '../../devcluster/problem.ts';
import { ROOT, startCluster, stopCluster, type TestCluster } from '../support/cluster.ts';
import { launcher } from '../support/command-line.ts';
import { keptNamespacesOf, killHard, pidsOf, pinnedNamespaces, processesOf } from '../support/processes.ts';
import { changesSince, machineState } from '../support/traces.ts';

/** An address that nobody answers at. */
const NOBODY = 'http://127.0.0.1:1';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'problems-'));
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true });
});

async function problemOf(attempt: Promise<unknown>): Promise<Problem> {
  const failure = await attempt.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(Problem);
  return failure as Problem;
}

describe('on a machine that lacks something', () => {
  test('root', async ({ signal }) => {
    // Another user, who may read everything, so that it does not matter where the clone is.
    const prefix = ['setpriv', '--reuid=65534', '--inh-caps=+dac_read_search', '--ambient-caps=+dac_read_search'];
    const said = await launcher(['up', '--name', 'test-no-root', '--node', 'none'], { prefix, signal });
    expect(said).toMatchObject({ code: 1, stderr: expect.stringContaining('needs root') });
    expect(said.stderr).toContain('what to do: Run the same command as root');
  });

  test('Go, with nothing built', async ({ signal }) => {
    await mkdir(path.join(directory, 'bin'));
    const env = { PATH: path.join(directory, 'bin'), DEVCLUSTER_CACHE: path.join(directory, 'cache') };
    const said = await launcher(['program', 'kustomize'], { env, signal });
    expect(said).toMatchObject({ code: 1, stderr: expect.stringContaining('Go is not installed') });
    expect(said.stderr).toContain('what to do: Install Go');
  });

  test('space on the disk', async ({ signal }) => {
    const small = path.join(directory, 'small');
    await mkdir(small);
    // A disk that nobody else sees: other tests look at all mounts of the machine.
    const mount = 'mount -t tmpfs -o size=1m tmpfs "$0" && exec "$@"';
    const prefix = ['unshare', '--mount', 'sh', '-c', mount, small];
    const env = { DEVCLUSTER_CACHE: path.join(small, 'cache') };
    const said = await launcher(['program', 'kustomize'], { env, prefix, signal });
    expect(said).toMatchObject({ code: 1, stderr: expect.stringContaining('GiB of free disk') });
    expect(said.stderr).toContain('what to do: Free some space');
  });

  test('a Go module proxy that answers', async ({ signal }) => {
    const env = {
      DEVCLUSTER_CACHE: path.join(directory, 'cache'),
      GOMODCACHE: path.join(directory, 'modules'),
      GOPROXY: NOBODY,
    };
    const said = await launcher(['program', 'kustomize'], { env, signal });
    expect(said).toMatchObject({ code: 1, stderr: expect.stringContaining('127.0.0.1:1') });
    expect(said.stderr).toContain('what to do: ');
    expect(said.stderr).not.toContain('    at ');
  });

  test('a Debian archive that answers', async ({ signal }) => {
    const configuration = path.join(directory, 'apt.conf');
    const proxy = `Acquire::http::Proxy "${NOBODY}";\nAcquire::https::Proxy "${NOBODY}";\n`;
    await writeFile(configuration, `Dir::Etc::Parts "/dev/null";\nDir::Etc::Main "/dev/null";\n${proxy}`);
    vi.stubEnv('APT_CONFIG', configuration);
    vi.stubEnv('DEVCLUSTER_CACHE', path.join(directory, 'cache'));
    const problem = await problemOf(openDebian({ signal, report: () => {} }));
    expect(problem.message).toContain('Debian archive');
    expect(problem.remedy).toContain('apt-get update');
    expect(String(problem.cause)).toContain('127.0.0.1');
  });
});

test.each([
  [['up', '--node', 'imaginary'], 'Use one of: real, none, fake.'],
  [['up', '--name', 'No Such'], 'lower-case letters'],
  [['up', '--fake-nodes', 'many', '--node', 'fake'], 'a whole number'],
  [['frobnicate'], 'See --help.'],
  [['up', '--frobnicate'], 'See --help.'],
])('the arguments %j', async (args, remedy) => {
  expect(await launcher(args)).toMatchObject({ code: 1, stderr: expect.stringContaining(remedy) });
});

test('Ctrl-C during a build stops it, and the next run goes on', async ({ signal }) => {
  const env = { DEVCLUSTER_CACHE: path.join(directory, 'cache') };
  let interrupted = false;
  const onOutput = (child: ChildProcess, said: string) => {
    if (!interrupted && said.includes('building')) interrupted = child.kill('SIGINT');
  };
  const stopped = await launcher(['program', 'memcached_exporter'], { env, signal, onOutput });
  expect(stopped).toMatchObject({ code: 130, stderr: expect.stringContaining('Parts that were built are kept') });
  const resumed = await launcher(['program', 'memcached_exporter'], { env, signal });
  expect(resumed.code).toBe(0);
  expect((await stat(resumed.stdout.trim())).mode & 0o111).not.toBe(0);
  const third = await launcher(['program', 'memcached_exporter'], { env, signal });
  expect(third.stderr).toContain('1 part: cached');
});

describe('a start that is broken off', () => {
  const broken = { name: 'test-broken-off', form: 'none' } as const;
  const up = ['up', '--name', broken.name, '--node', broken.form];

  beforeEach(() => stopCluster(broken));
  afterEach(() => stopCluster(broken));

  async function isTakenUp(signal: AbortSignal): Promise<void> {
    const { instance } = await startCluster({ ...broken, signal });
    const namespaces = await keptNamespacesOf(instance);
    expect(namespaces.length).toBeGreaterThan(0);
    expect(await stopCluster(broken)).toBe(true);
    expect(await processesOf(instance, namespaces)).toEqual([]);
    expect(await pinnedNamespaces(namespaces)).toEqual([]);
  }

  test('by Ctrl-C is taken up by the next one, and can be removed', async ({ signal }) => {
    const before = await machineState();
    let interrupted = false;
    const onOutput = (child: ChildProcess, said: string) => {
      if (!interrupted && said.includes('started etcd')) interrupted = child.kill('SIGINT');
    };
    const stopped = await launcher(up, { signal, onOutput });
    expect(stopped).toMatchObject({ code: 130, stderr: expect.stringContaining('Parts that were built are kept') });
    await isTakenUp(signal);
    expect(await changesSince(before, [placeOf(ROOT, broken.name)])).toEqual([]);
  });

  // Files that a start makes one after another: as soon as one is there, it dies.
  test.for(['instance.json', 'network', 'etcd.pid'])(
    'by kill -9 when there is %s is taken up by the next one, and can be removed',
    async (file, { signal }) => {
      const before = await machineState();
      const fatalFile = path.join(placeOf(ROOT, broken.name).runDirectory, file);
      expect(await launcher(up, { fatalFile, signal })).toMatchObject({ code: null });
      await isTakenUp(signal);
      expect(await changesSince(before, [placeOf(ROOT, broken.name)])).toEqual([]);
    },
  );
});

describe('with a running cluster', () => {
  const bare = { name: 'test-problems', form: 'none' } as const;
  let cluster: TestCluster;

  beforeAll(async () => {
    await stopCluster(bare);
    cluster = await startCluster(bare);
    await cluster.kubectl(['create', 'configmap', 'kept']);
  });

  afterAll(async () => {
    await stopCluster(bare);
  });

  test('another form than it has', async ({ signal }) => {
    const problem = await problemOf(startCluster({ ...bare, form: 'fake', signal }));
    expect(problem.message).toContain('NODE=none');
    expect(problem.remedy).toContain('make cluster-down');
  });

  test('a port in use', async ({ signal }) => {
    const { apiserver } = addresses(cluster.instance);
    await killHard((await pidsOf(cluster.instance, ['kube-apiserver']))['kube-apiserver']);
    const intruder = await listenInside(cluster, apiserver, 6443);
    try {
      const problem = await problemOf(startCluster({ ...bare, signal }));
      expect(problem.message).toContain(`cannot listen on ${apiserver}:6443`);
      expect(problem.message).toContain(`pid=${intruder.pid}`);
      expect(problem.remedy).toContain(`kill ${intruder.pid}`);
    } finally {
      intruder.kill('SIGKILL');
      await new Promise((resolve) => intruder.once('exit', resolve));
    }
    await startCluster({ ...bare, signal });
    expect(await cluster.kubectl(['get', 'configmap', 'kept', '-o', 'name'])).toContain('kept');
  });
});

/** A foreign process that holds a port in the cluster's network. */
function listenInside(of: TestCluster, host: string, port: number): Promise<ChildProcess> {
  // A port is free only when the last thread of its former owner has ended.
  const script = `
    const server = require('node:net').createServer();
    const listen = () => server.listen(${port}, '${host}');
    server.on('error', () => setTimeout(listen, 50)).on('listening', () => console.log('listening'));
    listen();`;
  const child = spawn('nsenter', [`--net=${networkNamespace(of.instance)}`, process.execPath, '-e', script]);
  return new Promise((resolve, reject) => {
    child.stdout.once('data', () => resolve(child));
    child.once('error', reject);
    child.once('exit', () => reject(new Error('the intruder ended')));
  });
}
