/** The demo: a real cluster, a memcached in it, and its answer. */
import { spawn } from 'node:child_process';
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { run } from '../devcluster/command.ts';
import { runCommandLine } from '../devcluster/command-line.ts';
import { down } from '../devcluster/down.ts';
import { findInstance, instanceDirectory, kubeconfigOf } from '../devcluster/instance.ts';
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

/** A way to call kubectl on the cluster of the demo. */
interface Kubectl {
  readonly program: string;
  readonly kubeconfig: string;
  (...args: string[]): Promise<string>;
}

function kubectlFor(program: string, kubeconfig: string, signal: AbortSignal): Kubectl {
  const call = (...args: string[]) => run(program, ['--kubeconfig', kubeconfig, ...args], { signal });
  return Object.assign(call, { program, kubeconfig });
}

async function show(signal: AbortSignal): Promise<void> {
  const kubectl = await cluster(signal);
  say('\n== A memcached, hardened as the operator will run it');
  say(await kubectl('apply', '-f', MANIFEST));
  await untilReady(kubectl);
  say(await kubectl(...IN_DEMO, 'get', 'pods', '-o', 'wide'));
  say('== What it answers to "version"');
  say(await askVersion(kubectl, signal));
  const shown = path.relative(process.cwd(), kubectl.kubeconfig);
  say(`\nLook around:  kubectl --kubeconfig ${shown} ${IN_DEMO.join(' ')} get all`);
  say('Remove it:    make demo-down');
}

/** The cluster that KUBECONFIG names, or the embedded one. */
async function cluster(signal: AbortSignal): Promise<Kubectl> {
  const given = process.env['KUBECONFIG'];
  if (given) {
    say(`using the cluster of KUBECONFIG=${given}`);
    return kubectlFor('kubectl', given, signal);
  }
  const isNew = (await findInstance(ROOT, CLUSTER)) === undefined;
  if (isNew) {
    say('starting an embedded Kubernetes (the first time it is built from source, which takes a while)');
    // Before the start: a demo that is interrupted on the way must be removable, too.
    await mkdir(path.dirname(ownership()), { recursive: true });
    await writeFile(ownership(), '');
  }
  const options = { root: ROOT, name: CLUSTER, form: 'real', fakeNodes: 0, audit: false, scale: false } as const;
  const instance = await up({ ...options, signal, output: process.stdout });
  return kubectlFor(programPath('kubectl'), kubeconfigOf(instance), signal);
}

/** Tells that the demo has started the cluster, and so may remove it. */
function ownership(): string {
  return path.join(instanceDirectory(ROOT, CLUSTER), 'started-by-demo');
}

async function untilReady(kubectl: Kubectl): Promise<void> {
  try {
    await kubectl(...IN_DEMO, 'wait', '--for=condition=Ready', 'pod/memcached', '--timeout=180s');
  } catch (error) {
    say(await kubectl(...IN_DEMO, 'describe', 'pod', 'memcached').catch(() => ''));
    throw new Problem(
      'The memcached pod did not become ready.',
      'Its description above tells why; on a cluster of your own, see that it can pull memcached:1.6.',
      { cause: error },
    );
  }
}

/** Through a port of this machine, so that it works on every cluster. */
async function askVersion(kubectl: Kubectl, signal: AbortSignal): Promise<string> {
  const args = ['--kubeconfig', kubectl.kubeconfig, ...IN_DEMO, 'port-forward', 'pod/memcached', ':11211'];
  const forward = spawn(kubectl.program, args, { stdio: ['ignore', 'pipe', 'inherit'], signal });
  forward.once('error', () => {}); // an interrupted demo ends it
  try {
    for await (const line of createInterface({ input: forward.stdout })) {
      const port = /127\.0\.0\.1:(\d+)/.exec(line)?.[1];
      if (port) return await firstAnswer(Number(port), 'version\r\n');
    }
    throw new Error('kubectl port-forward ended without forwarding a port');
  } finally {
    forward.kill();
  }
}

function firstAnswer(port: number, question: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(port, '127.0.0.1', () => socket.write(question));
    socket.setTimeout(10_000, () => socket.destroy(new Error('memcached did not answer within 10 s')));
    socket.once('error', reject);
    socket.once('data', (data) => {
      resolve(data.toString('latin1').trim());
      socket.destroy();
    });
  });
}

async function remove(signal: AbortSignal): Promise<void> {
  const given = process.env['KUBECONFIG'];
  if (given) {
    say(await kubectlFor('kubectl', given, signal)('delete', '--ignore-not-found', '-f', MANIFEST));
    return;
  }
  const instance = await findInstance(ROOT, CLUSTER);
  const isOurs = await stat(ownership()).then(
    () => true,
    () => false,
  );
  if (isOurs) {
    await down(ROOT, CLUSTER);
    await rm(path.dirname(ownership()), { recursive: true, force: true });
    say('the demo and its cluster are gone');
    return;
  }
  if (!instance) return;
  const kubectl = kubectlFor(programPath('kubectl'), kubeconfigOf(instance), signal);
  say(await kubectl('delete', '--ignore-not-found', '-f', MANIFEST));
  say('the cluster stays, because it was there before the demo: make cluster-down removes it');
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
