/** The launcher with two real nodes: pods do what they do on any Kubernetes. */
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WITHOUT_PROXY } from '../../devcluster/command.ts';
import { withPortForward } from '../../devcluster/port-forward.ts';
import { eventually, startCluster, stopCluster, type TestCluster } from '../support/cluster.ts';
import {
  aMemcached,
  apply,
  areDropped,
  areServed,
  askAll,
  get,
  memcachedPods,
  python,
  startPods,
} from '../support/pods.ts';

const NAME = 'test-nodes';

let cluster: TestCluster;

beforeAll(async () => {
  await stopCluster({ name: NAME });
  cluster = await startCluster({ name: NAME, form: 'real' });
  await startPods(cluster);
});

afterAll(async () => {
  await stopCluster({ name: NAME });
});

test('has two Ready nodes of Kubernetes 1.36', async () => {
  const kubelets = '{range .items[*]}{.metadata.name} {.status.nodeInfo.kubeletVersion}{"\\n"}{end}';
  expect((await get(cluster, 'nodes', kubelets)).trim().split('\n')).toEqual([
    expect.stringMatching(/^node-1 v1\.36\./),
    expect.stringMatching(/^node-2 v1\.36\./),
  ]);
  expect(await get(cluster, 'nodes', '{.items[*].status.conditions[?(@.type=="Ready")].status}')).toBe('True True');
});

test('hard anti-affinity spreads memcached over both', async () => {
  expect((await memcachedPods(cluster)).map(({ node }) => node).toSorted()).toEqual(['node-1', 'node-2']);
});

test('logs can be read', async ({ signal }) => {
  const { name } = await aMemcached(cluster);
  const read = () => cluster.kubectl(['logs', name, '-c', 'exporter']);
  const log = await eventually('the exporter has logged', read, (text) => text !== '', signal);
  expect(log).toContain('Starting memcached_exporter');
});

test('a port can be forwarded', async ({ signal }) => {
  const { name } = await aMemcached(cluster);
  const { directory } = cluster.instance;
  const kubectl = [path.join(directory, 'kubectl'), '--kubeconfig', path.join(directory, 'kubeconfig')] as const;
  const options = { kubectl, target: `pod/${name}`, port: 9150, env: WITHOUT_PROXY, signal };
  const read = async (port: number) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  expect(await withPortForward(options, read)).toMatch(/^memcached_up 1$/m);
});

test('the host reaches pods directly', async () => {
  const { ip } = await aMemcached(cluster);
  expect(await (await fetch(`http://${ip}:9150/metrics`)).text()).toContain('memcached_up 1');
});

test('the name of a headless Service resolves to the addresses of its pods', async () => {
  const script = 'import socket,sys; print(*sorted(a[4][0] for a in socket.getaddrinfo(sys.argv[1], 11211, proto=6)))';
  const resolved = await python(cluster, 'friend', script, 'memcached.default.svc.cluster.local');
  expect(resolved.trim().split(' ')).toEqual((await memcachedPods(cluster)).map(({ ip }) => ip).toSorted());
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
  expect(await python(cluster, 'stranger', script)).toBe('200\n');
});

test('a NetworkPolicy lets one pod through and drops another, on the same node and across', async ({ signal }) => {
  expect(await askAll(cluster, 'stranger')).toSatisfy(areServed);
  await apply(cluster, 'policy.yaml');
  await eventually('the stranger is dropped', () => askAll(cluster, 'stranger'), areDropped, signal);
  expect(await askAll(cluster, 'friend')).toSatisfy(areServed);
  await cluster.kubectl(['delete', 'networkpolicy', 'friends-only']);
  await eventually('the stranger is served again', () => askAll(cluster, 'stranger'), areServed, signal);
});

test('a process above its memory limit is killed', async ({ signal }) => {
  await apply(cluster, 'glutton.yaml');
  const reason = () => get(cluster, 'pod glutton', '{.status.containerStatuses[0].state.terminated.reason}');
  expect(await eventually('the glutton has ended', reason, (seen) => seen !== '', signal)).toBe('OOMKilled');
});

test('a running pod is resized in place', async ({ signal }) => {
  const { name } = await aMemcached(cluster);
  const patch = { spec: { containers: [{ name: 'memcached', resources: { limits: { memory: '256Mi' } } }] } };
  await cluster.kubectl(['patch', 'pod', name, '--subresource=resize', '--patch', JSON.stringify(patch)]);
  const status = '{.status.containerStatuses[?(@.name=="memcached")]';
  const limit = () => get(cluster, `pod ${name}`, `${status}.resources.limits.memory}`);
  await eventually('the limit is in force', limit, (seen) => seen === '256Mi', signal);
  expect(await get(cluster, `pod ${name}`, `${status}.restartCount}`)).toBe('0');
});

test('a changed Secret reaches a running pod in place', async ({ signal }) => {
  const { name } = await aMemcached(cluster);
  const read = () => cluster.kubectl(['exec', name, '-c', 'memcached', '--', 'cat', '/secret/value']);
  expect(await read()).toBe('first');
  const patch = JSON.stringify({ stringData: { value: 'second' } });
  await cluster.kubectl(['patch', 'secret', 'changing', '--patch', patch]);
  await eventually('the file has changed', read, (seen) => seen === 'second', signal);
  expect(await get(cluster, `pod ${name}`, '{.status.containerStatuses[*].restartCount}')).toBe('0 0');
});

test('runs the memcached versions that upgrades are tested with, as user 11211', async () => {
  const { name } = await aMemcached(cluster);
  const version = await cluster.kubectl(['exec', name, '-c', 'memcached', '--', 'memcached', '--version']);
  const [, minor = 0, patch = 0] = /(\d+)\.(\d+)$/.exec(version.trim())?.map(Number) ?? [];
  expect(minor).toBe(6);
  expect(patch).toBeGreaterThanOrEqual(45);
  expect(await cluster.kubectl(['exec', 'old-memcached', '--', 'memcached', '--version'])).toContain('1.6.18');
  expect(await cluster.kubectl(['exec', name, '-c', 'memcached', '--', 'id', '-u'])).toBe('11211\n');
});

test('memcached is compiled with TLS, SASL, proxy and extstore', async () => {
  const { name } = await aMemcached(cluster);
  const help = await cluster.kubectl(['exec', name, '-c', 'memcached', '--', 'memcached', '--help']);
  for (const option of ['--enable-ssl', '--enable-sasl', 'proxy_config', 'ext_path']) expect(help).toContain(option);
});

test('memcached checks passwords against a database', async () => {
  await apply(cluster, 'sasl.yaml');
  await cluster.kubectl(['wait', '--for=condition=Ready', 'pod/sasl-memcached', '--timeout=180s']);
  const script = `
import bmemcached, sys
client = bmemcached.Client((sys.argv[1] + ":11211",), "keystone", sys.argv[2])
try:
    print(client.set("key", "value"), client.get("key"))
except Exception as error:
    print("refused:", error)
`;
  const ip = await get(cluster, 'pod sasl-memcached', '{.status.podIP}');
  expect(await python(cluster, 'friend', script, ip, 'right')).toBe('True value\n');
  expect(await python(cluster, 'friend', script, ip, 'wrong')).toMatch(/^refused: .*Auth failure/);
});

test.for([
  ['pymemcache', 'client = HashClient([(host, 11211) for host in hosts], serde=pickle_serde)'],
  [
    'dogpile.cache',
    'client = dogpile.cache.make_region().configure("dogpile.cache.pymemcache", arguments={"url": servers})',
  ],
  [
    'oslo.cache',
    `
conf = oslo_config.cfg.ConfigOpts()
oslo_cache.configure(conf)
conf([], default_config_files=[])
conf.set_override("enabled", True, "cache")
conf.set_override("backend", "oslo_cache.memcache_pool", "cache")
conf.set_override("memcache_servers", servers, "cache")
client = oslo_cache.configure_cache_region(conf, oslo_cache.create_region())`,
  ],
] as const)('a Python program with %s reads and writes across nodes', async ([, connect]) => {
  const script = `
import dogpile.cache, oslo_config.cfg, sys
from oslo_cache import core as oslo_cache
from pymemcache.client.hash import HashClient
from pymemcache.serde import pickle_serde
hosts = sys.argv[1:]
servers = [host + ":11211" for host in hosts]
${connect}
for i in range(20): client.set(f"key-{i}", f"value-{i}")
print(sum(client.get(f"key-{i}") == f"value-{i}" for i in range(20)))
`;
  const pods = await memcachedPods(cluster);
  const stored = async () => {
    const items = await Promise.all(pods.map(({ ip }) => itemsOf(ip)));
    return items.map(Number);
  };
  const before = await stored();
  expect(await python(cluster, 'friend', script, ...pods.map(({ ip }) => ip))).toBe('20\n');
  const written = (await stored()).map((count, index) => count - (before[index] ?? 0));
  expect(written.every((count) => count > 0)).toBe(true);
});

/** How many items the memcached behind that exporter has stored since it runs. */
async function itemsOf(ip: string): Promise<string | undefined> {
  const metrics = await (await fetch(`http://${ip}:9150/metrics`)).text();
  return /^memcached_items_total (\S+)$/m.exec(metrics)?.[1];
}
