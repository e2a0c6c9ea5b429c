/** The demo: a real cluster, the operator, a Memcached that it makes true, and what the server answers. */
import { createHash } from 'node:crypto';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import path from 'node:path';
import { CommandFailed } from '../devcluster/command.ts';
import { runCommandLine } from '../devcluster/command-line.ts';
import { down } from '../devcluster/down.ts';
import { findInstance, instanceDirectory, kubeconfigOf } from '../devcluster/instance.ts';
import { callKubectl, givenCluster, type Kubectl, kubectlOf } from '../devcluster/kubectl.ts';
import { withPortForward } from '../devcluster/port-forward.ts';
import { Problem } from '../devcluster/problem.ts';
import { up } from '../devcluster/up.ts';
import { logOf, startOperator, stopOperator } from './operator.ts';

const HELP = `Usage: node demo/main.ts up | down | stop

  up     show the operator on a real Kubernetes: the embedded one, or, when KUBECONFIG is set, that one
  down   remove every trace of it
  stop   end its operator, whose cluster is gone
`;

const ROOT = path.dirname(import.meta.dirname);
const CLUSTER = 'default';
forgetOwnKubeconfig();

const CRD = path.join(ROOT, 'config/crd/memcacheds.yaml');
const NAMESPACE = path.join(import.meta.dirname, 'namespace.yaml');
const EXAMPLE = path.join(ROOT, 'examples/basic-cache.yaml');
/** Apart for every cluster, so that one demo does not touch another. */
const OPERATOR = { root: ROOT, directory: path.join(ROOT, `.demo${suffixOf(process.env['KUBECONFIG'])}`) };
/** Tells that the CRD came with the demo; otherwise others may have Memcacheds, which would go with it. */
const OWN_CRD = path.join(OPERATOR.directory, 'crd');
const IN_DEMO = ['--namespace', 'memcached-demo'];

/** Whoever looks around in the embedded cluster has KUBECONFIG set to it. It is the demo's own all the same, and goes with it. */
function forgetOwnKubeconfig(): void {
  const own = kubeconfigOf({ directory: instanceDirectory(ROOT, CLUSTER) });
  if (path.resolve(process.env['KUBECONFIG'] ?? '') === own) delete process.env['KUBECONFIG'];
}

function suffixOf(kubeconfig = ''): string {
  return kubeconfig === '' ? '' : `-${createHash('sha256').update(kubeconfig).digest('hex').slice(0, 8)}`;
}

async function show(signal: AbortSignal): Promise<void> {
  const given = await givenCluster(signal);
  if (given) say(`using the cluster of KUBECONFIG=${process.env['KUBECONFIG']}`);
  const cluster = given ?? (await embeddedCluster(signal));
  const kubectl = (...args: string[]) => callKubectl(cluster, args, { signal });
  say('\n== The operator, running on this machine');
  await mkdir(OPERATOR.directory, { recursive: true });
  if ((await kubectl('get', '-f', CRD, '--ignore-not-found')) === '') await writeFile(OWN_CRD, '');
  say(await kubectl('apply', '--server-side', '-f', CRD));
  await startOperator(OPERATOR, cluster.kubeconfig, signal);
  say(`in control; its log: ${path.relative(process.cwd(), logOf(OPERATOR))}`);
  say(`\n== A Memcached: ${path.relative(process.cwd(), EXAMPLE)}`);
  await kubectl('apply', '-f', NAMESPACE);
  say(await kubectl(...IN_DEMO, 'apply', '-f', EXAMPLE));
  await untilReady(kubectl);
  say(await kubectl(...IN_DEMO, 'get', 'memcacheds,deployments,services,endpointslices'));
  say(`\n${await kubectl(...IN_DEMO, 'get', 'pods', '-o', 'wide')}`);
  const { name, pod } = await firstServer(kubectl);
  say(`\n== What ${name} answers, which is ${pod} now`);
  for (const line of await converse(cluster, pod, signal)) say(line);
  say(`\nLook around:  ${cluster.command.join(' ')} ${IN_DEMO.join(' ')} get mc -o yaml`);
  say('Remove it:    make demo-down');
  say('Go on:        docs/quick-start.md');
}

async function embeddedCluster(signal: AbortSignal): Promise<Kubectl> {
  if (!(await findInstance(ROOT, CLUSTER))) {
    say('starting an embedded Kubernetes (the first time it is built from source, which takes a while)');
  }
  const options = { root: ROOT, name: CLUSTER, form: 'real', fakeNodes: 0, audit: false, scale: false } as const;
  return kubectlOf(await up({ ...options, startedBy: 'demo', signal, output: process.stdout }));
}

async function untilReady(kubectl: (...args: string[]) => Promise<string>): Promise<void> {
  try {
    await kubectl(...IN_DEMO, 'wait', '--for=condition=Ready', 'mc/basic-cache', '--timeout=180s');
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    say(await kubectl(...IN_DEMO, 'describe', 'mc', 'basic-cache'));
    throw new Problem(
      'The Memcached did not become ready.',
      'Its conditions above tell why; on a cluster of your own, see that it can pull memcached:1.6.',
      { cause: error },
    );
  }
  // What the server tells of itself comes a moment later; without it there is still something to show.
  const isTold = kubectl(
    ...IN_DEMO,
    'wait',
    '--for=jsonpath={.status.memcachedVersion}',
    'mc/basic-cache',
    '--timeout=10s',
  );
  await isTold.catch((error: unknown) => {
    if (!(error instanceof CommandFailed)) throw error;
  });
}

/** The first name that clients connect to, and the pod that has it. */
async function firstServer(kubectl: (...args: string[]) => Promise<string>): Promise<{ name: string; pod: string }> {
  const get = (what: string, field: string) => kubectl(...IN_DEMO, 'get', what, '-o', `jsonpath={${field}}`);
  const name = await get('mc/basic-cache', '.status.serverList[0]');
  return { name, pod: `pod/${await get('endpointslice/basic-cache', '.endpoints[0].targetRef.name')}` };
}

/** Through a port of this machine, so that it works on every cluster. */
function converse({ command, env }: Kubectl, target: string, signal: AbortSignal): Promise<string[]> {
  const options = { kubectl: [...command, ...IN_DEMO], target, port: 11211, env, signal } as const;
  return withPortForward(options, async (port) => {
    const questions = ['version\r\n', 'set greeting 0 60 5\r\nhello\r\n', 'get greeting\r\n'];
    const lines: string[] = [];
    for (const question of questions) {
      const answer = await firstAnswer(port, question);
      lines.push(`${readable(question).padEnd(32)}→ ${readable(answer)}`);
    }
    return lines;
  });
}

function readable(text: string): string {
  return text.trim().replaceAll('\r\n', ' ⏎ ');
}

function firstAnswer(port: number, question: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(port, '127.0.0.1', () => socket.write(question));
    socket.setTimeout(10_000, () => socket.destroy(new Error('memcached did not answer within 10 s')));
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('memcached closed the connection without an answer')));
    socket.once('data', (data) => {
      resolve(data.toString('latin1'));
      socket.destroy();
    });
  });
}

function ownsCrd(): Promise<boolean> {
  return stat(OWN_CRD).then(
    () => true,
    () => false,
  );
}

/** Those that somebody has made beside the demo. */
async function hasMemcacheds(kubectl: (...args: string[]) => Promise<string>): Promise<boolean> {
  if ((await kubectl('get', '-f', CRD, '--ignore-not-found')) === '') return false;
  return (await kubectl('get', 'memcacheds.memcached.c5c3.io', '--all-namespaces', '-o', 'name')) !== '';
}

async function remove(signal: AbortSignal): Promise<void> {
  const isCrdOurs = await ownsCrd();
  await stopOperator(OPERATOR);
  const instance = process.env['KUBECONFIG'] ? undefined : await findInstance(ROOT, CLUSTER);
  if (instance?.startedBy === 'demo') {
    await down(ROOT, CLUSTER, { signal });
    say('the demo and its cluster are gone');
    return;
  }
  const cluster = instance ? kubectlOf(instance) : await givenCluster(signal);
  if (!cluster) return;
  const kubectl = (...args: string[]) => callKubectl(cluster, args, { signal });
  const drop = async (file: string) => {
    const removed = await kubectl('delete', '--ignore-not-found', '-f', file);
    if (removed) say(removed);
  };
  await drop(NAMESPACE);
  if (isCrdOurs && (await hasMemcacheds(kubectl))) say('the definition stays, because there are other Memcacheds');
  else if (isCrdOurs) await drop(CRD);
  if (instance) say('the cluster stays, because it was there before the demo: make cluster-down removes it');
}

function say(text: string): void {
  process.stdout.write(`${text.trimEnd()}\n`);
}

const [command] = process.argv.slice(2);
await runCommandLine(async (signal) => {
  if (command === 'up') await show(signal);
  else if (command === 'down') await remove(signal);
  else if (command === 'stop') await stopOperator(OPERATOR);
  else process.stdout.write(HELP);
});
