/** memcached pods of a test cluster, and those who ask them. */
import path from 'node:path';
import type { TestCluster } from './cluster.ts';

type Reached = Pick<TestCluster, 'kubectl'>;

const MANIFESTS = path.resolve(import.meta.dirname, '../e2e/manifests');

/** One line of text, asked of memcached with nothing but Python's socket. */
const ASK = `
import socket, sys
connection = socket.create_connection((sys.argv[1], 11211), timeout=3)
connection.sendall(b"version\\r\\n")
print(connection.recv(100).decode().strip())
`;

export interface Pod {
  readonly name: string;
  readonly ip: string;
  readonly node: string;
}

export function apply(cluster: TestCluster, manifest: string): Promise<string> {
  return cluster.kubectl(['apply', '-f', path.join(MANIFESTS, manifest)]);
}

/** Two memcached pods on two nodes, a friend and a stranger, all of them Ready. */
export async function startPods(cluster: TestCluster): Promise<void> {
  await apply(cluster, 'memcached.yaml');
  await cluster.kubectl(['rollout', 'status', 'deployment/memcached', '--timeout=180s']);
  await cluster.kubectl(['wait', '--for=condition=Ready', 'pod', '--all', '--timeout=180s']);
}

/** Fields of an object, or of several. */
export function get(cluster: Reached, what: string, jsonpath: string): Promise<string> {
  return cluster.kubectl(['get', ...what.split(' '), '-o', `jsonpath=${jsonpath}`]);
}

export async function memcachedPods(cluster: TestCluster): Promise<Pod[]> {
  const lines = await get(
    cluster,
    'pods -l app=memcached --field-selector status.phase=Running',
    '{range .items[*]}{.metadata.name} {.status.podIP} {.spec.nodeName}{"\\n"}{end}',
  );
  return lines
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
    .map(([name = '', ip = '', node = '']) => ({ name, ip, node }));
}

export async function aMemcached(cluster: TestCluster): Promise<Pod> {
  const [pod] = await memcachedPods(cluster);
  if (!pod) throw new Error('there is no running memcached pod');
  return pod;
}

/** What a Python program prints in a pod. */
export function python(cluster: Reached, pod: string, script: string, ...args: string[]): Promise<string> {
  return cluster.kubectl(['exec', pod, '--', 'python3', '-c', script, ...args]);
}

/** What memcached answers to a pod, or why it does not. */
export function ask(cluster: Reached, from: string, host: string): Promise<string> {
  return python(cluster, from, ASK, host).then(
    (answer) => answer.trim(),
    (error: unknown) => (String(error).includes('timed out') ? 'timed out' : String(error)),
  );
}

/** What every memcached pod answers. */
export async function askAll(cluster: TestCluster, from: string): Promise<string[]> {
  const pods = await memcachedPods(cluster);
  return Promise.all(pods.map(({ ip }) => ask(cluster, from, ip)));
}

/** Whether both pods have answered. */
export function areServed(answers: readonly string[]): boolean {
  return answers.length === 2 && answers.every((answer) => answer.startsWith('VERSION 1.6'));
}

/** Whether both pods were silent. */
export function areDropped(answers: readonly string[]): boolean {
  return answers.length === 2 && answers.every((answer) => answer === 'timed out');
}
