/** The operator of the demo: a process of this machine that goes on until the demo is removed. */
import { spawn } from 'node:child_process';
import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { lastLines } from '../devcluster/command.ts';
import { answers } from '../devcluster/health.ts';
import { Problem } from '../devcluster/problem.ts';

const PATIENCE_MS = 60_000;

export interface Operator {
  /** Where it runs, and what it leaves: its process id and its log. */
  readonly root: string;
  readonly directory: string;
}

/** Starts it, unless it runs, and waits until it is in control. */
export async function startOperator(operator: Operator, kubeconfig: string, signal: AbortSignal): Promise<void> {
  await endProcess(operator); // one from an earlier demo may belong to another cluster
  await mkdir(operator.directory, { recursive: true });
  const env = { ...process.env, KUBECONFIG: kubeconfig }; // it may be a list of files
  const log = await open(logOf(operator), 'w');
  const health = `127.0.0.1:${await freePort()}`;
  const args = [programOf(operator), '--health-probe-bind-address', health, '--metrics-bind-address', '0'];
  const child = spawn(process.execPath, args, {
    env,
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  });
  await log.close();
  child.unref();
  await writeFile(pidOf(operator), String(child.pid));
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await answers(`http://${health}/readyz`))) {
    if (!(await runningPid(operator)) || performance.now() > deadline) throw await failure(operator);
    await sleep(200, undefined, { signal });
  }
}

/** A port that nobody uses: several demos may run on one machine. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

/** Stops it, if it runs, and forgets it. */
export async function stopOperator(operator: Operator): Promise<void> {
  await endProcess(operator);
  await rm(operator.directory, { recursive: true, force: true });
}

async function endProcess(operator: Operator): Promise<void> {
  for (let pid = await runningPid(operator); pid !== undefined; pid = await runningPid(operator)) {
    process.kill(pid, 'SIGTERM');
    await sleep(200);
  }
}

/** The process, if it is still ours: the kernel may have given its number to another one. */
async function runningPid(operator: Operator): Promise<number | undefined> {
  const pid = await readFile(pidOf(operator), 'utf8').catch(() => undefined);
  const commandLine = pid && (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''));
  return commandLine?.includes(programOf(operator)) ? Number(pid) : undefined;
}

async function failure(operator: Operator): Promise<Problem> {
  const words = lastLines(await readFile(logOf(operator), 'utf8').catch(() => ''), 5);
  return new Problem(`The operator did not get ready. Its last words:\n${words}`, `See ${logOf(operator)}.`);
}

export function logOf({ directory }: Operator): string {
  return path.join(directory, 'operator.log');
}

function pidOf({ directory }: Operator): string {
  return path.join(directory, 'operator.pid');
}

function programOf({ root }: Operator): string {
  return path.join(root, 'src/main.ts');
}
