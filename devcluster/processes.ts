/** The long-running processes of an instance: started detached, found again by pid file and command line. */
import { spawn } from 'node:child_process';
import { mkdir, open, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { processesInCgroups } from './cgroups.ts';
import { environment, lastLines, run, WITHOUT_PROXY } from './command.ts';
import type { Instance } from './instance.ts';
import { networkNamespace, processesInNamespaces } from './namespaces.ts';
import { Problem } from './problem.ts';

export interface Process {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** Where it will listen: "address:port". */
  readonly listens: readonly string[];
  /** What answers 200 when it does its work. */
  readonly health?: string;
  /** Its configuration, by path: written before it starts, and a reason to restart it when it changed. */
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** The pinned mount namespace to run in; the host's otherwise. */
  readonly mounts?: string;
  /** A command that prepares something and then replaces itself with the program. */
  readonly wrapper?: readonly string[];
}

/** Starts the process unless it runs with exactly these arguments and files already. */
export async function ensureRunning(instance: Instance, wanted: Process): Promise<'started' | 'running'> {
  const changed = await writeFiles(wanted.files ?? {});
  const running = (await findProcess(instance, wanted.name)) ?? (await adopt(instance, wanted));
  if (running?.commandLine === commandLine(wanted) && !changed) return 'running';
  if (running) await endProcess(running.pid);
  await requirePorts(instance, wanted);
  await start(instance, wanted);
  return 'started';
}

async function writeFiles(files: Readonly<Record<string, string>>): Promise<boolean> {
  let changed = false;
  for (const [file, content] of Object.entries(files)) {
    if ((await readFile(file, 'utf8').catch(() => undefined)) === content) continue;
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
    changed = true;
  }
  return changed;
}

/** Several of the programs only log that they cannot listen, and go on without. */
async function requirePorts(instance: Instance, { name, listens }: Process): Promise<void> {
  const sockets = await run('nsenter', [`--net=${networkNamespace(instance)}`, 'ss', '-Hltnp']);
  for (const line of sockets.split('\n')) {
    const [, , , address = '', , owner = ''] = line.split(/\s+/);
    const port = address.slice(address.lastIndexOf(':'));
    const everywhere = address.startsWith('*') || address.startsWith('0.0.0.0');
    const clash = listens.find((wanted) => wanted === address || (everywhere && wanted.endsWith(port)));
    if (clash === undefined) continue;
    const pid = /pid=(\d+)/.exec(owner)?.[1];
    throw new Problem(
      `${name} of the cluster "${instance.name}" cannot listen on ${clash}: the port is in use by ${owner || 'another process'}.`,
      `Stop that process${pid ? ` (kill ${pid})` : ''} and run the same command again, or start from nothing: make cluster-down.`,
    );
  }
}

async function start(instance: Instance, { name, program, args, env, mounts, wrapper = [] }: Process): Promise<void> {
  await mkdir(logDirectory(instance), { recursive: true });
  const log = await open(logFile(instance, name), 'a');
  try {
    const namespaces = [`--net=${networkNamespace(instance)}`, ...(mounts === undefined ? [] : [`--mount=${mounts}`])];
    // nsenter replaces itself with the program, so that the pid is the program's.
    const child = spawn('nsenter', [...namespaces, '--', ...wrapper, program, ...args], {
      cwd: '/',
      detached: true,
      env: environment({ ...WITHOUT_PROXY, ...env }),
      stdio: ['ignore', log.fd, log.fd],
    });
    const pid = await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('spawn', () => resolve(child.pid ?? 0));
    });
    child.unref();
    await writeFile(pidFile(instance, name), `${pid} ${await startTimeOf(pid)}`);
  } finally {
    await log.close();
  }
}

/** The running process of that name. A pid that the kernel has given to another process by now does not count. */
async function findProcess(
  instance: Instance,
  name: string,
): Promise<{ pid: number; commandLine: string } | undefined> {
  const [pid, startTime] = (await readFile(pidFile(instance, name), 'utf8').catch(() => '')).split(' ').map(Number);
  if (pid === undefined || startTime === undefined || (await startTimeOf(pid)) !== startTime) return undefined;
  return { pid, commandLine: await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '') };
}

/** One that was started but not recorded, because the launcher was killed in between. */
async function adopt(instance: Instance, wanted: Process): ReturnType<typeof findProcess> {
  for (const pid of await processesInNamespaces(instance)) {
    if ((await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')) !== commandLine(wanted)) continue;
    await writeFile(pidFile(instance, wanted.name), `${pid} ${await startTimeOf(pid)}`);
    return findProcess(instance, wanted.name);
  }
  return undefined;
}

/** When the process was started, in the kernel's ticks; nothing for one that has ended. */
async function startTimeOf(pid: number): Promise<number | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ');
  if (!fields || fields[0] === 'X') return undefined;
  // Ended, and waiting to be collected by its parent; but as long as another thread lives, its ports are in use.
  if (fields[0] === 'Z' && (await readdir(`/proc/${pid}/task`).catch(() => [])).length <= 1) return undefined;
  return Number(fields[19]);
}

function commandLine({ program, args }: Process): string {
  return `${[program, ...args].join('\0')}\0`;
}

async function endProcess(pid: number): Promise<void> {
  signalAll([pid], 'SIGTERM');
  for (let attempt = 0; attempt < 100 && (await isAlive(pid)); attempt += 1) await sleep(100);
  await kill(async () => ((await isAlive(pid)) ? [pid] : []));
}

/** Ends everything that runs in the instance, also what an earlier start left behind and what pods have started. */
export async function killAll(instance: Instance): Promise<void> {
  await kill(async () => {
    const alive: number[] = [];
    for (const pid of [...(await processesInNamespaces(instance)), ...(await processesInCgroups(instance))]) {
      if (await isAlive(pid)) alive.push(pid);
    }
    return alive;
  });
}

async function kill(alive: () => Promise<number[]>): Promise<void> {
  let pids = await alive();
  for (let attempt = 0; pids.length > 0; attempt += 1) {
    if (attempt === 400) {
      throw new Problem(
        `The processes ${pids.join(', ')} do not end, not even by kill -9.`,
        'They wait for the kernel (`ps -o pid,stat,wchan,args`), most often for a disk: see to that, then repeat the command.',
      );
    }
    signalAll(pids, 'SIGKILL');
    await sleep(50);
    pids = await alive();
  }
}

async function isAlive(pid: number): Promise<boolean> {
  return (await startTimeOf(pid)) !== undefined;
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended by itself.
    }
  }
}

export async function isRunning(instance: Instance, name: string): Promise<boolean> {
  return (await findProcess(instance, name)) !== undefined;
}

/** The end of what the process has written. */
export async function lastWords(instance: Instance, name: string): Promise<string> {
  return lastLines(await readFile(logFile(instance, name), 'utf8').catch(() => ''), 8);
}

function pidFile(instance: Instance, name: string): string {
  return path.join(instance.runDirectory, `${name}.pid`);
}

export function logDirectory(instance: Instance): string {
  return path.join(instance.directory, 'logs');
}

export function logFile(instance: Instance, name: string): string {
  return path.join(logDirectory(instance), `${name}.log`);
}
