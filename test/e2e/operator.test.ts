/** The operator where pods are real: rollouts that work, and words for those that do not. */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { type Memcached, memcachedKind } from '../../src/api/index.ts';
import { during, set } from '../../src/memcached/index.ts';
import {
  change,
  conditions,
  createReady,
  getMemcached,
  isReady,
  isUpToDate,
  memcached,
  message,
  NAMESPACE,
  stage,
  Trail,
  until,
} from '../support/memcacheds.ts';

const at = stage({ name: 'test-operator', form: 'real' });

afterEach(() => at.operator.assertAlive());

/** What kubectl prints of each pod that is not on its way out. */
async function podsOf(name: string, jsonpath: string): Promise<string[]> {
  const selector = `app.kubernetes.io/instance=${name}`;
  const pods = JSON.parse(await at.cluster.kubectl(['get', 'pods', '-l', selector, '-o', 'json'])) as {
    items: { metadata: { name: string; deletionTimestamp?: string } }[];
  };
  const names = pods.items.filter((pod) => !pod.metadata.deletionTimestamp).map((pod) => pod.metadata.name);
  return Promise.all(names.map((pod) => at.cluster.kubectl(['get', 'pod', pod, '-o', `jsonpath=${jsonpath}`])));
}

/** The line by which memcached answers a command. */
async function answerOf(address: string, command: string): Promise<string> {
  const socket = connect(11211, address);
  socket.setTimeout(10_000, () => socket.destroy(new Error(`${address} does not answer`)));
  socket.end(`${command}\r\n`);
  return text(socket);
}

test('an image change rolls out, and real servers answer', async ({ signal }) => {
  const created = await createReady(at, memcached('cache', { replicas: 2, image: 'memcached:1.6.18' }), signal);
  console.log(`2 servers of 1.6.18 are ready after ${Math.round(created.ms)} ms`);
  const trail = await Trail.begin(at, 'cache', signal);
  await change(at, 'cache', { spec: { image: 'memcached:1.6' } });
  const { ms } = await until(at, 'rolled out', () => getMemcached(at, 'cache'), isReady, signal);
  const seen = await trail.end(signal);
  console.log(`rolled out in ${Math.round(ms)} ms: ${seen.join(' ')}`);
  const progressing = seen.filter((entry) => entry.startsWith('Progressing='));
  expect(progressing).toEqual([
    'Progressing=False/DeploymentComplete',
    'Progressing=True/DeploymentProgressing',
    'Progressing=False/DeploymentComplete',
  ]);
  expect(seen.filter((entry) => entry.startsWith('Available='))).toEqual(['Available=True/DeploymentAvailable']);
  expect(await podsOf('cache', '{.spec.containers[0].image}')).toEqual(['memcached:1.6', 'memcached:1.6']);
  for (const address of await podsOf('cache', '{.status.podIP}'))
    expect(await answerOf(address, 'version')).toMatch(/^VERSION 1\.6\./);
  // Both nodes have one: the default prefers that.
  expect(new Set(await podsOf('cache', '{.spec.nodeName}')).size).toBe(2);
});

/** Nobody answers there, and nothing leaves the machine to find that out. */
const MISSING = 'localhost:1/memcached:1.6';

const isTold = (reason: string, words: RegExp) => (seen: Memcached) =>
  isUpToDate(seen) && conditions(seen)['Degraded'] === `True/${reason}` && words.test(message(seen, 'Degraded'));

test('an image that does not exist is named, and the old servers go on', async ({ signal }) => {
  await createReady(at, memcached('no-image', { replicas: 1 }), signal);
  await change(at, 'no-image', { spec: { image: MISSING } });
  const look = () => getMemcached(at, 'no-image');
  const told = isTold('RolloutStuck', /image "localhost:1\/memcached:1\.6" cannot be pulled/);
  const { value, ms } = await until(at, 'it is told', look, told, signal);
  console.log(`told after ${Math.round(ms)} ms: ${message(value, 'Degraded')}`);
  expect(conditions(value)).toMatchObject({ Available: 'True/DeploymentAvailable', Ready: 'False/RolloutStuck' });
  expect(value.status?.readyReplicas).toBe(1);

  await change(at, 'no-image', { spec: { image: 'memcached:1.6' } });
  const recovered = await until(at, 'it recovers', look, isReady, signal);
  console.log(`recovered after ${Math.round(recovered.ms)} ms`);
});

test('a memcached that ends at once is quoted', async ({ signal }) => {
  const asRoot = { podSecurityContext: { runAsUser: 0 }, containerSecurityContext: { runAsUser: 0 } };
  const spec = { security: asRoot }; // memcached refuses that
  await at.client.create(memcachedKind, memcached('crash', spec));
  const look = () => getMemcached(at, 'crash');
  const told = isTold(
    'ReplicasNotReady',
    /memcached ended with exit code 64, saying "must add '-u root' to start as root"/,
  );
  const { value, ms } = await until(at, 'it is told', look, told, signal);
  console.log(`told after ${Math.round(ms)} ms: ${message(value, 'Degraded')}`);
  expect(conditions(value)).toMatchObject({
    Available: 'False/DeploymentUnavailable',
    Ready: 'False/ReplicasNotReady',
  });

  await change(at, 'crash', { spec: { security: null } });
  const recovered = await until(at, 'it recovers', look, isReady, signal);
  console.log(`recovered after ${Math.round(recovered.ms)} ms`);
});

test('a node that is too small is named', async ({ signal }) => {
  const resources = { requests: { memory: '4Ti' } };
  await at.client.create(memcachedKind, memcached('too-big', { resources }));
  const look = () => getMemcached(at, 'too-big');
  const told = isTold('ReplicasNotReady', /no node takes it .*Insufficient memory/);
  const { value, ms } = await until(at, 'it is told', look, told, signal);
  console.log(`told after ${Math.round(ms)} ms: ${message(value, 'Degraded')}`);
  await change(at, 'too-big', { spec: { resources: null } });
  const recovered = await until(at, 'it recovers', look, isReady, signal);
  expect(recovered.value.status?.readyReplicas).toBe(1);
});

/** Large items until the memory for items is used up; then some of every size, for which memcached takes memory all the same. */
const SIZES = Array.from({ length: 42 }, (_, step) => Math.floor(64 * 1.25 ** step)).filter((size) => size < 900_000);
const ITEMS = [
  ...Array.from({ length: 40 }, () => 400_000),
  ...SIZES.flatMap((size) => Array.from({ length: Math.ceil(2 ** 20 / Math.max(size, 2 ** 14)) }, () => size)),
];

/** Whether the server has survived it. */
async function fill(host: string): Promise<boolean> {
  const fillAll = async (connection: Parameters<typeof set>[0]) => {
    for (const [index, size] of ITEMS.entries()) await set(connection, `key-${index}`, 'x'.repeat(size));
    return true;
  };
  return during({ host, port: 11211 }, undefined, fillAll).catch(() => false);
}

test('a server that has too little memory: the status says how much would do, and that does', async ({ signal }) => {
  const resources = { limits: { memory: '48Mi' } };
  await createReady(at, memcached('starved', { memcached: { maxMemoryMB: 16 }, resources }), signal);
  const [address = ''] = await podsOf('starved', '{.status.podIP}');
  const look = () => getMemcached(at, 'starved');
  const fillAndLook = async () => {
    const seen = await look();
    if (isReady(seen)) await fill(address);
    return seen;
  };
  const advice = /memcached was killed for using more memory than its limit of 48Mi: set (\S+) to (\d+Mi) or more/;
  const { value, ms } = await until(at, 'it is told', fillAndLook, isTold('ReplicasNotReady', advice), signal);
  console.log(`told after ${Math.round(ms)} ms: ${message(value, 'Degraded')}`);
  const [, field, memory = ''] = advice.exec(message(value, 'Degraded')) ?? [];
  expect(field).toBe('spec.resources.limits.memory');

  await change(at, 'starved', { spec: { resources: { limits: { memory } } } });
  await until(at, 'it recovers', look, isReady, signal);
  const [better = ''] = await podsOf('starved', '{.status.podIP}');
  expect(await fill(better)).toBe(true);
  expect(await podsOf('starved', '{.status.containerStatuses[0].restartCount}')).toEqual(['0']);
});

test('a quota that lets no more pods in is quoted, and the servers that there are go on', async ({ signal }) => {
  await createReady(at, memcached('quota', { replicas: 1 }), signal);
  await at.cluster.kubectl(['create', 'quota', 'none-left', '--hard=pods=0']);
  try {
    await at.cluster.kubectl(['wait', '--for=jsonpath={.status.hard.pods}=0', 'quota/none-left', '--timeout=120s']);
    await change(at, 'quota', { spec: { replicas: 2 } });
    const look = () => getMemcached(at, 'quota');
    const told = isTold('ReplicasNotReady', /1 of 2 replicas are ready\. No pod .* exceeded quota: none-left, /);
    const { value, ms } = await until(at, 'it is told', look, told, signal);
    console.log(`told after ${Math.round(ms)} ms: ${message(value, 'Degraded')}`);
    expect(value.status?.readyReplicas).toBe(1);
    await at.cluster.kubectl(['delete', 'quota', 'none-left']);
    const recovered = await until(at, 'it recovers', look, isReady, signal, 240_000);
    console.log(`recovered after ${Math.round(recovered.ms)} ms`);
  } finally {
    await at.cluster.kubectl(['delete', 'quota', 'none-left', '--ignore-not-found']);
  }
});

test('a deleted Memcached takes its pods with it', async ({ signal }) => {
  await createReady(at, memcached('gone', { replicas: 2 }), signal);
  await at.client.delete(memcachedKind, 'gone', NAMESPACE);
  const rest = () =>
    at.cluster.kubectl([
      'get',
      'deployment,service,replicaset,pod',
      '-l',
      'app.kubernetes.io/instance=gone',
      '-o',
      'name',
    ]);
  const { value, ms } = await until(at, 'all is gone', rest, (names) => names === '', signal);
  console.log(`everything was gone after ${Math.round(ms)} ms`);
  expect(value).toBe('');
});
