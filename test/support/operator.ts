/** The operator as a process of its own, with nothing but the permissions that are generated for it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import { WITHOUT_PROXY } from '../../devcluster/command.ts';
import { kubeconfigOf } from '../../devcluster/instance.ts';
import { eventually, ROOT, type TestCluster } from './cluster.ts';

export const OPERATOR_NAMESPACE = 'memcached-operator-system';
const ACCOUNT = 'memcached-operator-controller-manager';

/** How the API server calls it. */
export const OPERATOR_USER = `system:serviceaccount:${OPERATOR_NAMESPACE}:${ACCOUNT}`;

export interface LogLine {
  readonly level: string;
  readonly time: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

/** Installs CRD and permissions, and gives the kubeconfig of the operator's own service account. */
export async function installOperator(cluster: TestCluster, signal: AbortSignal): Promise<string> {
  for (const file of ['config/crd/memcacheds.yaml', 'config/rbac/role.yaml'])
    await cluster.kubectl(['apply', '-f', path.join(ROOT, file)]);
  const list = () => cluster.kubectl(['get', 'mc']).then(() => true);
  await eventually('Memcacheds are served', list, Boolean, signal);
  return (await operatorAccess(cluster, 'operator')).kubeconfig;
}

export interface OperatorAccess {
  readonly kubeconfig: string;
  /** By which the audit log tells those who share the account from each other. */
  readonly credential: string;
}

/** A token of the operator's service account, with its namespace, as a pod has them. */
export async function operatorAccess(cluster: TestCluster, name: string): Promise<OperatorAccess> {
  const token = (
    await cluster.kubectl(['create', 'token', ACCOUNT, '-n', OPERATOR_NAMESPACE, '--duration=24h'])
  ).trim();
  const { jti } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { jti: string };
  const config = parse(await readFile(kubeconfigOf(cluster.instance), 'utf8')) as {
    users: { name: string; user: object }[];
    contexts: { name: string; context: object }[];
  };
  const users = config.users.map((user) => ({ ...user, user: { token } }));
  const contexts = config.contexts.map((one) => ({
    ...one,
    context: { ...one.context, namespace: OPERATOR_NAMESPACE },
  }));
  const kubeconfig = path.join(cluster.instance.directory, `${name}-kubeconfig`);
  await writeFile(kubeconfig, stringify({ ...config, users, contexts }), { mode: 0o600 });
  return { kubeconfig, credential: `JTI=${jti}` };
}

/** Processes that run now: none of them outlives the tests. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

const operators: Operator[] = [];

/** All that the operators of these tests have said. */
export function operatorWords(): string[] {
  return operators.map((operator) => operator.words());
}

export class Operator {
  readonly logs: LogLine[] = [];
  readonly port: number;
  readonly metricsPort: number;
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  #isWanted = true;
  /** What it said in another form than its logs: a stack trace, mostly. */
  #words = '';

  private constructor(
    child: ChildProcess,
    /** Where it tells whether it is ready. */
    port: number,
    metricsPort: number,
  ) {
    this.#child = child;
    this.port = port;
    this.metricsPort = metricsPort;
    this.#closed = once(child, 'close');
    running.add(child);
    operators.push(this);
    child.once('close', () => running.delete(child));
    for (const stream of [child.stdout, child.stderr])
      if (stream) createInterface({ input: stream }).on('line', (line) => this.#hear(line));
  }

  /** Resolves when it says that it is ready. */
  static async start(
    kubeconfig: string,
    signal: AbortSignal,
    flags: readonly string[] = [],
    nodeFlags: readonly string[] = [],
  ): Promise<Operator> {
    const operator = await Operator.launch(kubeconfig, flags, nodeFlags);
    const { port } = operator;
    const ready = async () => {
      operator.assertAlive();
      return (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.status === 200;
    };
    const deadline = performance.now() + 120_000;
    while (!(await ready())) {
      signal.throwIfAborted();
      if (performance.now() > deadline) throw new Error(`the operator is not ready after 120 s:\n${operator.tail()}`);
      await sleep(20);
    }
    return operator;
  }

  /** Does not wait for anything but the process. */
  static async launch(
    kubeconfig: string,
    flags: readonly string[] = [],
    nodeFlags: readonly string[] = [],
  ): Promise<Operator> {
    const [port, metricsPort] = [await freePort(), await freePort()];
    const args = [
      ...nodeFlags,
      'src/main.ts',
      '--kubeconfig',
      kubeconfig,
      '--health-probe-bind-address',
      `127.0.0.1:${port}`,
      '--metrics-bind-address',
      `127.0.0.1:${metricsPort}`,
    ];
    const child = spawn(process.execPath, [...args, ...flags], {
      cwd: ROOT,
      env: { ...process.env, ...WITHOUT_PROXY },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    await once(child, 'spawn');
    return new Operator(child, port, metricsPort);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Fails when it has ended without being asked to. */
  assertAlive(): void {
    const { exitCode, signalCode } = this.#child;
    if (!this.#isWanted || (exitCode === null && signalCode === null)) return;
    throw new Error(`the operator ended by itself (${exitCode ?? signalCode}):\n${this.tail()}`);
  }

  /** As Kubernetes does it. It has to end in order, and in time. */
  async stop(): Promise<void> {
    this.assertAlive();
    this.#isWanted = false;
    this.#child.kill('SIGTERM');
    const patience = AbortSignal.timeout(60_000);
    patience.addEventListener('abort', () => this.#child.kill('SIGKILL'));
    await this.#closed;
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== 0) throw new Error(`the operator stopped with ${exitCode ?? signalCode}:\n${this.tail()}`);
    if (this.#words !== '') throw new Error(`the operator said what is no log:\n${this.#words}`);
  }

  /** Its exit code, when it ends. From now on it may. */
  async ended(): Promise<number | null> {
    this.#isWanted = false;
    await this.#closed;
    return this.#child.exitCode;
  }

  /** As `kill -9`. */
  async kill(): Promise<void> {
    this.assertAlive();
    this.#isWanted = false;
    this.#child.kill('SIGKILL');
    await this.#closed;
  }

  /** Its last words. */
  tail(): string {
    return this.words(20);
  }

  /** So many lines from the end. */
  words(count = this.logs.length): string {
    return [...this.logs.slice(-count).map((line) => JSON.stringify(line)), this.#words].join('\n');
  }

  #hear(line: string): void {
    if (line === 'Debugger attached.') return; // Node's own word, when its memory is looked at
    try {
      this.logs.push(JSON.parse(line) as LogLine);
    } catch {
      this.#words += `${line}\n`;
    }
  }
}

/** Below those that the kernel gives to connections, and apart for each process: other files of tests ask for ports at the same time. */
const PORTS = { first: 10_000 + 100 * (process.pid % 200), count: 100 };
let asked = 0;

/** A port that nobody listens on, and that nobody else is told. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.first + (asked++ % PORTS.count);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
