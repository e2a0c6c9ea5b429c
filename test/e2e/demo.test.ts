/** The demo on a cluster that somebody has already: what it shows, and that it takes nothing with it that is not its own. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startCluster, stopCluster, type TestCluster } from '../support/cluster.ts';
import { demo } from '../support/command-line.ts';

const NAME = 'test-demo';

let cluster: TestCluster;
let directory: string;
/** The shell of somebody who has a cluster and kubectl. */
let env: Record<string, string>;

beforeAll(async () => {
  await stopCluster({ name: NAME });
  cluster = await startCluster({ name: NAME, form: 'real' });
  directory = await mkdtemp(path.join(tmpdir(), 'demo-'));
  env = {
    KUBECONFIG: path.join(cluster.instance.directory, 'kubeconfig'),
    PATH: `${cluster.instance.directory}:${process.env['PATH']}`,
  };
});

afterAll(async () => {
  await stopCluster({ name: NAME });
  await rm(directory, { recursive: true, force: true });
});

function namespaces(): Promise<string> {
  return cluster.kubectl(['get', 'namespaces', '-o', 'name']);
}

test('shows a memcached that answers, as often as it is asked to', async ({ signal }) => {
  for (let time = 1; time <= 2; time += 1) {
    const said = await demo(['up'], { env, signal });
    expect(said).toMatchObject({ code: 0, stdout: expect.stringMatching(/^version .*→ VERSION 1\.6\./m) });
    expect(said.stdout).toContain('make demo-down');
  }
  expect(await namespaces()).toContain('namespace/memcached-demo');
});

test('removed, it is gone, and the cluster stays; removed again, it is quiet', async ({ signal }) => {
  expect(await demo(['down'], { env, signal })).toMatchObject({ code: 0, stderr: '' });
  expect(await namespaces()).not.toContain('memcached-demo');
  expect(await namespaces()).toContain('namespace/default');
  const again = await demo(['down'], { env, signal });
  expect(again).toEqual({ code: 0, stdout: '', stderr: '' });
});

/** A kubeconfig of a cluster that is no more. */
const NOBODY = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'gone', cluster: { server: 'https://127.0.0.1:1' } }],
  contexts: [{ name: 'gone', context: { cluster: 'gone', user: 'me' } }],
  users: [{ name: 'me', user: { token: 'of-no-use' } }],
  'current-context': 'gone',
});

test.for([
  ['up', 'a file that does not exist', undefined],
  ['down', 'a file that does not exist', undefined],
  ['up', 'a cluster that does not answer', NOBODY],
  ['down', 'a cluster that does not answer', NOBODY],
])('%s with the KUBECONFIG of %s says so', async ([command = '', , content], { signal }) => {
  const kubeconfig = path.join(await mkdtemp(path.join(directory, 'nobody-')), 'kubeconfig');
  if (content !== undefined) await writeFile(kubeconfig, content);
  const said = await demo([command], { env: { ...env, KUBECONFIG: kubeconfig }, signal });
  expect(said).toMatchObject({ code: 1, stderr: expect.stringContaining(kubeconfig) });
  expect(said.stderr).toContain('what to do: ');
  expect(said.stderr).not.toMatch(/^ +at /m);
});

test('up without kubectl says so', async ({ signal }) => {
  const empty = path.join(directory, 'bin');
  await mkdir(empty);
  const said = await demo(['up'], { env: { ...env, PATH: empty }, signal });
  expect(said).toMatchObject({ code: 1, stderr: expect.stringContaining('kubectl') });
  expect(said.stderr).toContain('what to do: ');
  expect(said.stderr).not.toMatch(/^ +at /m);
});
