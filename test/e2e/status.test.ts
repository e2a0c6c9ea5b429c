/** What the status says of the servers, held against what they really do. The operator runs in the cluster, where NetworkPolicies see it as well. */
import { isDeepStrictEqual } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { type Memcached, type MemcachedSpec, memcachedKind } from '../../src/api/index.ts';
import { eventually } from '../support/cluster.ts';
import { deployed } from '../support/deployed.ts';
import { change, getMemcached, isReady, memcached } from '../support/memcacheds.ts';
import { ask, get, python } from '../support/pods.ts';

const at = deployed('test-status');

const [FRIEND, STRANGER] = ['friend', 'stranger'];

/** Those that clients use. */
const used: Readonly<Record<string, MemcachedSpec>> = {
  cache: { replicas: 3 },
  guarded: {
    replicas: 2,
    networkPolicy: { enabled: true, allowedSources: [{ podSelector: { matchLabels: { run: FRIEND } } }] },
  },
};
const memcacheds = { ...used, renewed: { replicas: 1, image: 'memcached:1.6.18' } };

beforeAll(async () => {
  for (const [name, spec] of Object.entries(memcacheds)) await at.client.create(memcachedKind, memcached(name, spec));
  const image = 'localhost/memcached-clients:1';
  for (const pod of [FRIEND, STRANGER])
    await at.kubectl(['run', pod, `--image=${image}`, '--image-pull-policy=Never', '--', 'sleep', 'infinity']);
  const names = Object.keys(memcacheds);
  const waited = [FRIEND, STRANGER].map((pod) => `pod/${pod}`).concat(names.map((name) => `mc/${name}`));
  await at.kubectl(['wait', '--for=condition=Ready', ...waited, '--timeout=240s']);
  for (const name of Object.keys(used)) await burden(name);
});

const RESOLVE = `
import socket, sys
print(len({socket.getaddrinfo(server.split(":")[0], 11211)[0][4] for server in sys.argv[1].split(",")}))
`;

/** 300 hits and 100 misses, and four connections to each server that stay open when this ends. */
const BURDEN = `
import os, sys, time
from pymemcache.client.hash import HashClient

clients = [HashClient(sys.argv[1].split(","), connect_timeout=5, timeout=5) for _ in range(4)]
client = clients[0]
for key in range(300):
    assert client.set(f"key-{key}", "value", noreply=False)
assert all(client.get(f"key-{key}") == b"value" for key in range(300))
assert all(client.get(f"missing-{key}") is None for key in range(100))
for other in clients:
    for server in other.clients.values():
        server.version()
if os.fork() == 0:
    os.setsid()
    os.closerange(0, 3)
    time.sleep(3600)
`;

/** What servers tell of themselves. */
const LOOK = `
import json, sys
from pymemcache.client.base import Client

def told(server):
    stats = Client(server, connect_timeout=5, timeout=5).stats()
    names = {"curr_connections": "connections", "get_hits": "hits", "get_misses": "misses"}
    told = {"version": stats[b"version"].decode()} | {names[name]: int(stats[name.encode()]) for name in names}
    return told | {"connections": told["connections"] - 1} # without this one

print(json.dumps([told(server) for server in sys.argv[1].split(",")]))
`;

interface Told {
  readonly version: string;
  readonly connections: number;
  readonly hits: number;
  readonly misses: number;
}

/** When the client was done, by Memcached. */
const burdened = new Map<string, number>();

async function burden(name: string): Promise<void> {
  const list = (await getMemcached(at, name)).status?.serverList ?? [];
  const resolve = () => python(at, FRIEND, RESOLVE, list.join(','));
  const isKnown = (count: string) => Number(count) === list.length;
  await eventually('the resolver knows the servers', resolve, isKnown, new AbortController().signal);
  await python(at, FRIEND, BURDEN, list.join(','));
  burdened.set(name, performance.now());
}

/** What a client sees of all pods that there are. */
async function toldBy(name: string): Promise<Told[]> {
  const addresses = await get(at, `pods -l app.kubernetes.io/instance=${name}`, '{.items[*].status.podIP}');
  return JSON.parse(await python(at, FRIEND, LOOK, addresses.replaceAll(' ', ','))) as Told[];
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
const versionsIn = (servers: readonly Told[]) => [...new Set(servers.map(({ version }) => version))].toSorted();

/** With a long time, a rollout does not go beyond its first new server. */
async function demandReadiness(seconds: number): Promise<void> {
  const patch = JSON.stringify({ spec: { minReadySeconds: seconds } });
  await at.kubectl(['patch', 'deployment', 'renewed', '--type=merge', '--patch', patch]);
}

test('an image change: both versions are named while both run, and the new one from then on', async ({ signal }) => {
  const look = () => getMemcached(at, 'renewed');
  const version = async () => (await look()).status?.memcachedVersion ?? '';
  const before = await eventually('its version is known', version, Boolean, signal);
  await demandReadiness(300);
  await change(at, 'renewed', { spec: { image: 'memcached:1.6' } });
  const areBoth = ({ status }: Memcached) => status?.memcachedVersion?.startsWith(`${before}, `) === true;
  const { status } = await eventually('both versions are named', look, areBoth, signal);
  console.log(`named while both run: ${status?.memcachedVersion}`);
  const [, after = ''] = status?.memcachedVersion?.split(', ') ?? [];
  expect(versionsIn(await toldBy('renewed'))).toEqual([before, after]);
  await demandReadiness(0);
  const isNew = (seen: Memcached) => isReady(seen) && seen.status?.memcachedVersion === after;
  await eventually('the new one is named', look, isNew, signal);
  const isAlone = (servers: readonly Told[]) => isDeepStrictEqual(versionsIn(servers), [after]);
  await eventually('nothing else runs', () => toldBy('renewed'), isAlone, signal); // the last old one takes its time to go
});

test.for(Object.keys(used))(
  '%s: hit ratio, connections and version are those of its servers',
  async (name, { signal }) => {
    const look = () => getMemcached(at, name);
    await eventually('the hit ratio is 0.75', look, ({ status }) => status?.hitRatio === '0.75', signal);
    console.log(
      `${name}: 0.75 ${Math.round(performance.now() - (burdened.get(name) ?? 0))} ms after the client was done`,
    );

    // The operator is connected all the time, and counts itself.
    const compare = async () => ({ servers: await toldBy(name), status: (await look()).status });
    const { servers, status } = await eventually(
      'both see the same connections', // but for a probe that is just there
      compare,
      (seen) => sum(seen.servers.map(({ connections }) => connections)) === seen.status?.currentConnections,
      signal,
    );
    console.log(`${name}: ${status?.currentConnections} connections, as ${JSON.stringify(servers)}`);
    expect(servers).toHaveLength(used[name]?.replicas ?? 0);
    expect(servers.filter(({ hits, misses }) => hits === 0 || misses === 0)).toEqual([]);
    expect([sum(servers.map(({ hits }) => hits)), sum(servers.map(({ misses }) => misses))]).toEqual([300, 100]);
    expect(versionsIn(servers)).toEqual([status?.memcachedVersion]);
  },
);

test('the NetworkPolicy was in force all the time', async () => {
  const [host = ''] = (await getMemcached(at, 'guarded')).status?.serverList?.[0]?.split(':') ?? [];
  expect(await ask(at, FRIEND, host)).toMatch(/^VERSION /);
  expect(await ask(at, STRANGER, host)).toBe('timed out');
});
