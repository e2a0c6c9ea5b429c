/** The operator as a process that is measured: the bundled file, as it runs in production. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { modestNode } from '../deploy/image.ts';
import { WITHOUT_PROXY } from '../devcluster/command.ts';
import { freePort } from '../test/support/operator.ts';
import { type Usage, usageOf } from './process-usage.ts';

const IN_CONTROL_MS = 60_000;
const STOP_MS = 30_000;
const LAST_LINES = 20;

export interface OperatorOptions {
  /** What Node runs. */
  readonly script: string;
  readonly nodeFlags: readonly string[];
  readonly kubeconfig: string;
  /** What it is told besides. */
  readonly flags?: readonly string[];
  /** Where it writes what Node is told to write. */
  readonly directory?: string | undefined;
  readonly signal: AbortSignal;
}

export class Operator {
  /** Aborted when it has ended without being told to. */
  readonly lost: AbortSignal;
  /** How long it took until it had seen everything and began to work. */
  readonly startMs: number;
  readonly metricsPort: number;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  private constructor(
    child: ChildProcess,
    exited: Promise<unknown>,
    { lost, startMs, metricsPort }: Pick<Operator, 'lost' | 'startMs' | 'metricsPort'>,
  ) {
    this.#child = child;
    this.#exited = exited;
    this.lost = lost;
    this.startMs = startMs;
    this.metricsPort = metricsPort;
  }

  /** Resolves when it is in control. */
  static async start({
    script,
    nodeFlags,
    kubeconfig,
    directory,
    signal,
    ...options
  }: OperatorOptions): Promise<Operator> {
    const metricsPort = await freePort();
    const metrics = ['--metrics-bind-address', `127.0.0.1:${metricsPort}`];
    const addresses = ['--health-probe-bind-address', '127.0.0.1:0', ...metrics];
    const flags = ['--kubeconfig', kubeconfig, ...addresses, ...(options.flags ?? [])];
    const since = performance.now();
    const child = spawn(process.execPath, [...nodeFlags, script, ...flags], {
      ...(directory !== undefined && { cwd: directory }),
      env: { ...WITHOUT_PROXY, ...modestNode.environment }, // and nothing else: a pod has none of our variables either
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const exited = once(child, 'close');
    const { inControl, last } = listen(child);
    const loss = new AbortController();
    child.once('close', (code, name) =>
      loss.abort(new Error(`the operator has ended (${code ?? name}):\n${last.join('\n')}`)),
    );
    const limit = AbortSignal.any([signal, loss.signal, AbortSignal.timeout(IN_CONTROL_MS)]);
    try {
      await orAborted(inControl, limit);
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
    return new Operator(child, exited, { lost: loss.signal, startMs: performance.now() - since, metricsPort });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  usage(): Promise<Usage> {
    return usageOf(this.pid);
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** As Kubernetes stops it. Once is enough. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    const patience = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS);
    await this.#exited;
    clearTimeout(patience);
  }
}

/** Reads what it says: errors are passed on, the last lines are kept for the case that it ends. */
function listen(child: ChildProcess): { inControl: Promise<void>; last: readonly string[] } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const last: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue;
    createInterface({ input: stream }).on('line', (line) => {
      last.push(line);
      if (last.length > LAST_LINES) last.shift();
      if (line.includes('"message":"in control"')) resolve();
      if (line.includes('"level":"error"')) process.stdout.write(`        operator: ${line.slice(0, 400)}\n`);
    });
  }
  return { inControl: promise, last };
}

/** What the promise gives, unless the signal goes off first. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    void promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
