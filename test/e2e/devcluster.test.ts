/** The launcher with two real nodes: pods do what they do on any Kubernetes, and nothing of it stays behind. */
import { spawn } from 'node:child_process';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually, startCluster, stopCluster, type TestCluster } from '../support/cluster.ts';
import { machineState, namespacesOf, pinnedNamespaces, processesOf } from '../support/traces.ts';

const NAME = 'test-nodes';
const MANIFESTS = path.join(import.meta.dirname, 'manifests');
/** One line of text, asked of memcached with nothing but Python's socket. */
const ASK = `
import socket, sys
connection = socket.create_connection((sys.argv[1], 11211), timeout=3)
connection.sendall(b"version\\r\\n")
print(connection.recv(100).decode().strip())
`;

let cluster: TestCluster;
let before: string[];

beforeAll(async () => {
  await stopCluster({ name: NAME });
  before = await machineState();
  cluster = await startCluster({ name: NAME, form: 'real' });
  await apply('memcached.yaml');
  await cluster.kubectl(['rollout', 'status', 'deployment/memcached', '--timeout=180s']);
  await cluster.kubectl(['wait', '--for=condition=Ready', 'pod', '--all', '--timeout=180s']);
});

afterAll(async () => {
  await stopCluster({ name: NAME });
});

function apply(manifest: string): Promise<string> {
  return cluster.kubectl(['apply', '-f', path.join(MANIFESTS, manifest)]);
}

function get(what: string, jsonpath: string): Promise<string> {
  return cluster.kubectl(['get', ...what.split(' '), '-o', `jsonpath=${jsonpath}`]);
}

async function memcachedPods(): Promise<{ name: string; ip: string; node: string }[]> {
  const lines = await get(
    'pods -l app=memcached --field-selector status.phase=Running',
    '{range .items[*]}{.metadata.name} {.status.podIP} {.spec.nodeName}{"\\n"}{end}',
  );
  return lines
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
    .map(([name = '', ip = '', node = '']) => ({ name, ip, node }));
}

async function aMemcached(): Promise<{ name: string; ip: string; node: string }> {
  const [pod] = await memcachedPods();
  if (!pod) throw new Error('there is no running memcached pod');
  return pod;
}

/** What memcached answers to a pod, or why it does not. */
function ask(from: string, host: string): Promise<string> {
  return cluster.kubectl(['exec', from, '--', 'python3', '-c', ASK, host]).then(
    (answer) => answer.trim(),
    (error: unknown) => (String(error).includes('timed out') ? 'timed out' : String(error)),
  );
}

test('has two Ready nodes of Kubernetes 1.36', async () => {
  const nodes = await get('nodes', '{range .items[*]}{.metadata.name} {.status.nodeInfo.kubeletVersion}{"\\n"}{end}');
  expect(nodes.trim().split('\n')).toEqual([
    expect.stringMatching(/^node-1 v1\.36\./),
    expect.stringMatching(/^node-2 v1\.36\./),
  ]);
  const ready = await get('nodes', '{.items[*].status.conditions[?(@.type=="Ready")].status}');
  expect(ready).toBe('True True');
});

test('hard anti-affinity spreads memcached over both', async () => {
  expect((await memcachedPods()).map(({ node }) => node).toSorted()).toEqual(['node-1', 'node-2']);
});

test('runs the memcached versions that upgrades are tested with, as user 11211', async () => {
  const { name } = await aMemcached();
  const version = await cluster.kubectl(['exec', name, '-c', 'memcached', '--', 'memcached', '--version']);
  const [, minor = 0, patch = 0] = /(\d+)\.(\d+)$/.exec(version.trim())?.map(Number) ?? [];
  expect(minor).toBe(6);
  expect(patch).toBeGreaterThanOrEqual(45);
  expect(await cluster.kubectl(['exec', 'old-memcached', '--', 'memcached', '--version'])).toContain('1.6.18');
  expect(await cluster.kubectl(['exec', name, '-c', 'memcached', '--', 'id', '-u'])).toBe('11211\n');
});

test('memcached has TLS, SASL with a password database, proxy and extstore', async () => {
  const { name } = await aMemcached();
  const help = await cluster.kubectl(['exec', name, '-c', 'memcached', '--', 'memcached', '--help']);
  for (const option of ['--enable-ssl', '--enable-sasl', 'proxy_config', 'ext_path']) expect(help).toContain(option);
});

test('logs can be read', async ({ signal }) => {
  const { name } = await aMemcached();
  const read = () => cluster.kubectl(['logs', name, '-c', 'exporter']);
  const log = await eventually('the exporter has logged', read, (text) => text !== '', signal);
  expect(log).toContain('Starting memcached_exporter');
});

test('a port can be forwarded', async () => {
  const { name } = await aMemcached();
  const kubeconfig = path.join(cluster.instance.directory, 'kubeconfig');
  const program = path.join(cluster.instance.directory, 'kubectl');
  const forward = spawn(program, ['--kubeconfig', kubeconfig, 'port-forward', name, ':9150'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    let port: string | undefined;
    for await (const line of createInterface({ input: forward.stdout })) {
      port = /127\.0\.0\.1:(\d+)/.exec(line)?.[1];
      if (port) break;
    }
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(metrics).toMatch(/^memcached_up 1$/m);
  } finally {
    forward.kill();
  }
});

test('the host reaches pods directly', async () => {
  const { ip } = await aMemcached();
  expect(await (await fetch(`http://${ip}:9150/metrics`)).text()).toContain('memcached_up 1');
});

test('the name of a headless Service resolves to the addresses of its pods', async () => {
  const script = 'import socket,sys; print(*sorted(a[4][0] for a in socket.getaddrinfo(sys.argv[1], 11211, proto=6)))';
  const host = 'memcached.default.svc.cluster.local';
  const resolved = await cluster.kubectl(['exec', 'friend', '--', 'python3', '-c', script, host]);
  expect(resolved.trim().split(' ')).toEqual((await memcachedPods()).map(({ ip }) => ip).toSorted());
});

test('Python clients read and write across nodes', async () => {
  const script = `
from pymemcache.client.hash import HashClient
import dogpile.cache, bmemcached, oslo_cache, sys
client = HashClient([(host, 11211) for host in sys.argv[1:]])
for i in range(20): client.set(f"key-{i}", f"value-{i}")
print(sum(client.get(f"key-{i}") == f"value-{i}".encode() for i in range(20)))
`;
  const hosts = (await memcachedPods()).map(({ ip }) => ip);
  expect(await cluster.kubectl(['exec', 'friend', '--', 'python3', '-c', script, ...hosts])).toBe('20\n');
});

test('a pod reaches the API with its service account', async () => {
  const script = `
import ssl, urllib.request
place = "/var/run/secrets/kubernetes.io/serviceaccount/"
headers = {"Authorization": "Bearer " + open(place + "token").read()}
request = urllib.request.Request("https://kubernetes.default.svc/apis", headers=headers)
context = ssl.create_default_context(cafile=place + "ca.crt")
print(urllib.request.urlopen(request, context=context, timeout=10).status)
`;
  expect(await cluster.kubectl(['exec', 'stranger', '--', 'python3', '-c', script])).toBe('200\n');
});

test('a NetworkPolicy lets one pod through and drops another, on the same node and across', async ({ signal }) => {
  const pods = await memcachedPods();
  const answers = (from: string) => Promise.all(pods.map(({ ip }) => ask(from, ip)));
  const served = pods.map(() => expect.stringMatching(/^VERSION 1\.6/));
  expect(await answers('stranger')).toEqual(served);
  await apply('policy.yaml');
  const isDropped = (seen: string[]) => seen.every((answer) => answer === 'timed out');
  await eventually('the stranger is dropped', () => answers('stranger'), isDropped, signal);
  expect(await answers('friend')).toEqual(served);
  await cluster.kubectl(['delete', 'networkpolicy', 'friends-only']);
  const isServed = (seen: string[]) => seen.every((answer) => answer.startsWith('VERSION'));
  await eventually('the stranger is served again', () => answers('stranger'), isServed, signal);
});

test('a process above its memory limit is killed', async ({ signal }) => {
  await apply('glutton.yaml');
  const reason = () => get('pod glutton', '{.status.containerStatuses[0].state.terminated.reason}');
  expect(await eventually('the glutton has ended', reason, (seen) => seen !== '', signal)).toBe('OOMKilled');
});

test('a running pod is resized in place', async ({ signal }) => {
  const { name } = await aMemcached();
  const patch = { spec: { containers: [{ name: 'memcached', resources: { limits: { memory: '256Mi' } } }] } };
  await cluster.kubectl(['patch', 'pod', name, '--subresource=resize', '--patch', JSON.stringify(patch)]);
  const status = '{.status.containerStatuses[?(@.name=="memcached")]';
  const limit = () => get(`pod ${name}`, `${status}.resources.limits.memory}`);
  await eventually('the limit is in force', limit, (seen) => seen === '256Mi', signal);
  expect(await get(`pod ${name}`, `${status}.restartCount}`)).toBe('0');
});

test('a changed Secret reaches a running pod in place', async ({ signal }) => {
  const { name } = await aMemcached();
  const read = () => cluster.kubectl(['exec', name, '-c', 'memcached', '--', 'cat', '/secret/value']);
  expect(await read()).toBe('first');
  await cluster.kubectl([
    'patch',
    'secret',
    'changing',
    '--patch',
    JSON.stringify({ stringData: { value: 'second' } }),
  ]);
  await eventually('the file has changed', read, (seen) => seen === 'second', signal);
  expect(await get(`pod ${name}`, '{.status.containerStatuses[*].restartCount}')).toBe('0 0');
});

test('heals after kill -9 of everything that runs in it', async ({ signal }) => {
  const namespaces = await namespacesOf(cluster.instance);
  const victims = (await processesOf(cluster.instance, namespaces)).map((line) => Number(line.split(' ')[0]));
  expect(victims.length).toBeGreaterThan(20); // the cluster's own, the shims, and what the pods run
  for (const pid of victims) process.kill(pid, 'SIGKILL');
  await startCluster({ name: NAME, form: 'real' });
  const answers = async () => {
    const pods = await memcachedPods();
    return Promise.all(pods.map(({ ip }) => ask('friend', ip)));
  };
  const isServed = (seen: string[]) => seen.length === 2 && seen.every((answer) => answer.startsWith('VERSION'));
  await eventually('both memcached pods answer again', answers, isServed, signal);
});

test('removed, it leaves nothing', async () => {
  const namespaces = await namespacesOf(cluster.instance);
  expect(namespaces.length).toBeGreaterThanOrEqual(3);
  expect(await stopCluster({ name: NAME })).toBe(true);
  expect(await processesOf(cluster.instance, namespaces)).toEqual([]);
  expect(await pinnedNamespaces(namespaces)).toEqual([]);
  expect(await machineState()).toEqual(before);
  await expect(stat(cluster.instance.directory)).rejects.toThrow('ENOENT');
});
