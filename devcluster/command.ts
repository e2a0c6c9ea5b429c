/** Runs programs to their end, with their output at hand when they fail. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface CommandOptions {
  readonly cwd?: string;
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly signal?: AbortSignal;
  /** Called with each line of standard error, as it comes. */
  readonly onLine?: (line: string) => void;
}

export class CommandFailed extends Error {
  constructor(program: string, args: readonly string[], exitCode: number | null, stderr: string) {
    const command = [program, ...args].join(' ').slice(0, 200);
    super(`${command} ended with ${exitCode ?? 'a signal'}:\n${lastLines(stderr, 15)}`);
    this.name = 'CommandFailed';
  }
}

/** For whatever speaks to an instance: its addresses are on this machine, where no proxy would find them. */
export const WITHOUT_PROXY = Object.fromEntries(
  ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].flatMap((name) => [
    [name, ''],
    [name.toLowerCase(), ''],
  ]),
);

/** The environment of this process, and the places of system programs, which not every shell of root knows. */
export function environment(extra: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/sbin`, ...extra };
}

/** Groups of processes that run now: none of them outlives this process. */
const groups = new Set<number>();
process.once('exit', () => {
  for (const pid of groups) signalGroup(pid, 'SIGKILL');
});

const GRACE_MS = 5000;

/** Standard output of a program that must succeed. */
export async function run(program: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  options.signal?.throwIfAborted();
  // A group of its own, so that Ctrl-C in the terminal reaches only us, and we end the program with all its children.
  const child = spawn(program, args, {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: environment(options.env),
  });
  const { pid } = child;
  if (pid !== undefined) groups.add(pid);
  let killing: NodeJS.Timeout | undefined;
  const stop = () => {
    signalGroup(pid, 'SIGTERM');
    killing = setTimeout(() => signalGroup(pid, 'SIGKILL'), GRACE_MS);
  };
  options.signal?.addEventListener('abort', stop, { once: true });
  try {
    return await completion(program, args, child, options);
  } finally {
    options.signal?.removeEventListener('abort', stop);
    clearTimeout(killing);
    if (pid !== undefined) groups.delete(pid);
  }
}

async function completion(
  program: string,
  args: readonly string[],
  child: ReturnType<typeof spawn>,
  options: CommandOptions,
): Promise<string> {
  const { stdin, stdout, stderr } = child;
  if (!stdin || !stdout || !stderr) throw new Error(`${program} was started without pipes`);
  let output = '';
  let errors = '';
  stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  createInterface({ input: stderr }).on('line', (line) => {
    errors += `${line}\n`;
    options.onLine?.(line);
  });
  stdin.on('error', () => {}); // a program that does not read its input is not our failure
  stdin.end(options.input ?? '');

  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code));
  });
  options.signal?.throwIfAborted();
  if (exitCode !== 0) throw new CommandFailed(program, args, exitCode, errors || output);
  return output;
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended by itself.
  }
}

export function lastLines(text: string, count: number): string {
  return text.trimEnd().split('\n').slice(-count).join('\n');
}
