/** The launcher with simulated nodes: hundreds of pods that cost nothing but their API objects. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { eventually, startCluster, stopCluster, type TestCluster } from '../support/cluster.ts';
import { installOperator, Operator } from '../support/operator.ts';

const NAME = 'test-fake';
let cluster: TestCluster;

beforeAll(async () => {
  await stopCluster({ name: NAME });
  cluster = await startCluster({ name: NAME, form: 'fake', fakeNodes: 5 });
});

afterAll(async () => {
  await stopCluster({ name: NAME });
});

test('runs 300 pods on five simulated nodes, each with an address of its own', async ({ signal }) => {
  await cluster.kubectl(['create', 'deployment', 'many', '--image=memcached:1.6', '--replicas=300']);
  const ready = () => cluster.kubectl(['get', 'deployment', 'many', '-o', 'jsonpath={.status.readyReplicas}']);
  await eventually('300 pods are ready', ready, (seen) => seen === '300', signal);
  const pods = await cluster.kubectl([
    'get',
    'pods',
    '-o',
    'jsonpath={range .items[*]}{.spec.nodeName} {.status.podIP}{"\\n"}{end}',
  ]);
  const lines = pods.trim().split('\n');
  expect(new Set(lines.map((line) => line.split(' ')[0])).size).toBe(5);
  expect(new Set(lines.map((line) => line.split(' ')[1])).size).toBe(300);
});

test('the example for production, five servers that share no node, becomes ready', async ({ signal }) => {
  const operator = await Operator.start(await installOperator(cluster, signal), signal);
  onTestFinished(() => operator.stop());
  await cluster.kubectl(['label', 'nodes', '--all', 'node-role.kubernetes.io/cache=']); // which the example asks for
  await cluster.kubectl(['create', 'namespace', 'production']);
  await cluster.kubectl(['apply', '-f', 'examples/prod-cache.yaml']);
  const production = ['--namespace', 'production'];
  await cluster.kubectl([...production, 'wait', '--for=condition=Ready', 'mc/prod-cache', '--timeout=180s'], {
    signal,
  });
  const nodes = await cluster.kubectl([...production, 'get', 'pods', '-o', 'jsonpath={.items[*].spec.nodeName}']);
  expect(new Set(nodes.split(' ')).size).toBe(5);
});
