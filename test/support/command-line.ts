/** Our command lines, run as a person runs them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './cluster.ts';

export interface Said {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandLineOptions {
  /** Added to the environment of the tests. */
  readonly env?: Readonly<Record<string, string>>;
  /** Put before the command, as `sudo` and the like are. */
  readonly prefix?: readonly string[];
  /** Called with everything that it has said so far, on both channels, whenever it says more. */
  readonly onOutput?: (child: ChildProcess, said: string) => void;
  /** A file whose coming into being kills it, as `kill -9` does. */
  readonly fatalFile?: string;
  readonly signal?: AbortSignal;
}

/** The launcher of the embedded cluster. */
export function launcher(args: readonly string[], options: CommandLineOptions = {}): Promise<Said> {
  return commandLine('devcluster/main.ts', args, options);
}

/** The demo. */
export function demo(args: readonly string[], options: CommandLineOptions = {}): Promise<Said> {
  return commandLine('demo/main.ts', args, options);
}

/** The operator's way into a cluster, and out of it. */
export function deploy(args: readonly string[], options: CommandLineOptions = {}): Promise<Said> {
  return commandLine('deploy/main.ts', args, options);
}

function commandLine(script: string, args: readonly string[], options: CommandLineOptions): Promise<Said> {
  const { env = {}, prefix = [], onOutput, fatalFile = '', signal } = options;
  const [program = '', ...rest] = [...prefix, process.execPath, path.join(ROOT, script), ...args];
  return new Promise((resolve, reject) => {
    const child = spawn(program, rest, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    const stop = () => child.kill('SIGTERM'); // it ends what it has started
    signal?.addEventListener('abort', stop, { once: true });
    const watch = setInterval(() => existsSync(fatalFile) && child.kill('SIGKILL'), 1);
    const said = { stdout: '', stderr: '' };
    for (const channel of ['stdout', 'stderr'] as const) {
      child[channel].setEncoding('utf8').on('data', (chunk: string) => {
        said[channel] += chunk;
        process.stdout.write(chunk);
        onOutput?.(child, said.stdout + said.stderr);
      });
    }
    child.once('error', reject);
    child.once('close', (code) => {
      clearInterval(watch);
      signal?.removeEventListener('abort', stop);
      resolve({ code, ...said });
    });
  });
}
