/** The demo: a real cluster, a memcached in it, and its answer. */
import { createConnection } from 'node:net';
import path from 'node:path';
import { CommandFailed, run, WITHOUT_PROXY } from '../devcluster/command.ts';
import { runCommandLine } from '../devcluster/command-line.ts';
import { down } from '../devcluster/down.ts';
import { isInstalled } from '../devcluster/host.ts';
import { findInstance, kubeconfigOf } from '../devcluster/instance.ts';
import { withPortForward } from '../devcluster/port-forward.ts';
import { Problem } from '../devcluster/problem.ts';
import { programPath } from '../devcluster/programs.ts';
import { up } from '../devcluster/up.ts';

const HELP = `Usage: node demo/main.ts up | down

  up     show memcached on a real Kubernetes: the embedded one, or, when KUBECONFIG is set, that one
  down   remove every trace of it
`;

const ROOT = path.dirname(import.meta.dirname);
const MANIFEST = path.join(import.meta.dirname, 'memcached.yaml');
const CLUSTER = 'default';
const IN_DEMO = ['--namespace', 'memcached-demo'];

/** How kubectl is called on the cluster of the demo. */
interface Cluster {
  readonly kubectl: readonly [program: string, ...args: string[]];
  readonly env: Readonly<Record<string, string>>;
}

async function show(signal: AbortSignal): Promise<void> {
  const given = await givenCluster(signal);
  if (given) say(`using the cluster of KUBECONFIG=${process.env['KUBECONFIG']}`);
  const cluster = given ?? (await embeddedCluster(signal));
  const kubectl = (...args: string[]) => call(cluster, args, signal);
  say('\n== A memcached, hardened as the operator will run it');
  say(await kubectl('apply', '-f', MANIFEST));
  await untilReady(kubectl);
  say(await kubectl(...IN_DEMO, 'get', 'pods', '-o', 'wide'));
  say('== What it answers to "version"');
  say(await askVersion(cluster, signal));
  say(`\nLook around:  ${cluster.kubectl.join(' ')} ${IN_DEMO.join(' ')} get all`);
  say('Remove it:    make demo-down');
}

function call(
  { kubectl: [program, ...start], env }: Cluster,
  args: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  return run(program, [...start, ...args], { signal, env });
}

/** The cluster that KUBECONFIG names, if it does. */
async function givenCluster(signal: AbortSignal): Promise<Cluster | undefined> {
  const given = process.env['KUBECONFIG'];
  if (!given) return undefined;
  if (!(await isInstalled('kubectl'))) {
    throw new Problem(
      'KUBECONFIG is set, but there is no kubectl on the PATH.',
      'Install kubectl, or unset KUBECONFIG to get a cluster with one of its own.',
    );
  }
  const cluster: Cluster = { kubectl: ['kubectl'], env: {} };
  await call(cluster, ['version', '--request-timeout=15s'], signal).catch((error: unknown) => {
    if (!(error instanceof CommandFailed)) throw error;
    throw new Problem(
      `The cluster of KUBECONFIG=${given} does not answer.`,
      'See that `kubectl version` works, or unset KUBECONFIG to get a cluster of its own.',
      { cause: error },
    );
  });
  return cluster;
}

async function embeddedCluster(signal: AbortSignal): Promise<Cluster> {
  if (!(await findInstance(ROOT, CLUSTER))) {
    say('starting an embedded Kubernetes (the first time it is built from source, which takes a while)');
  }
  const options = { root: ROOT, name: CLUSTER, form: 'real', fakeNodes: 0, audit: false, scale: false } as const;
  return kubectlOf(await up({ ...options, startedBy: 'demo', signal, output: process.stdout }));
}

function kubectlOf(instance: { readonly directory: string }): Cluster {
  const kubeconfig = path.relative(process.cwd(), kubeconfigOf(instance));
  return { kubectl: [programPath('kubectl'), '--kubeconfig', kubeconfig], env: WITHOUT_PROXY };
}

async function untilReady(kubectl: (...args: string[]) => Promise<string>): Promise<void> {
  try {
    await kubectl(...IN_DEMO, 'wait', '--for=condition=Ready', 'pod/memcached', '--timeout=180s');
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    say(await kubectl(...IN_DEMO, 'describe', 'pod', 'memcached'));
    throw new Problem(
      'The memcached pod did not become ready.',
      'Its description above tells why; on a cluster of your own, see that it can pull memcached:1.6.',
      { cause: error },
    );
  }
}

/** Through a port of this machine, so that it works on every cluster. */
function askVersion({ kubectl, env }: Cluster, signal: AbortSignal): Promise<string> {
  const options = { kubectl: [...kubectl, ...IN_DEMO], target: 'pod/memcached', port: 11211, env, signal } as const;
  return withPortForward(options, (port) => firstAnswer(port, 'version\r\n'));
}

function firstAnswer(port: number, question: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(port, '127.0.0.1', () => socket.write(question));
    socket.setTimeout(10_000, () => socket.destroy(new Error('memcached did not answer within 10 s')));
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('memcached closed the connection without an answer')));
    socket.once('data', (data) => {
      resolve(data.toString('latin1').trim());
      socket.destroy();
    });
  });
}

async function remove(signal: AbortSignal): Promise<void> {
  const instance = process.env['KUBECONFIG'] ? undefined : await findInstance(ROOT, CLUSTER);
  if (instance?.startedBy === 'demo') {
    await down(ROOT, CLUSTER, { signal });
    say('the demo and its cluster are gone');
    return;
  }
  const cluster = instance ? kubectlOf(instance) : await givenCluster(signal);
  if (!cluster) return;
  const removed = await call(cluster, ['delete', '--ignore-not-found', '-f', MANIFEST], signal);
  if (removed) say(removed);
  if (instance) say('the cluster stays, because it was there before the demo: make cluster-down removes it');
}

function say(text: string): void {
  process.stdout.write(`${text.trimEnd()}\n`);
}

const [command] = process.argv.slice(2);
await runCommandLine(async (signal) => {
  if (command === 'up') await show(signal);
  else if (command === 'down') await remove(signal);
  else process.stdout.write(HELP);
});
