/** The starting of one instance: runs its processes, waits for what they bring about, and says what it does. */
import { setTimeout as sleep } from 'node:timers/promises';
import { answers } from './health.ts';
import type { Instance } from './instance.ts';
import { Problem } from './problem.ts';
import { ensureRunning, isRunning, lastWords, logDirectory, logFile, type Process } from './processes.ts';

const PATIENCE_SECONDS = 180;

export class Launch {
  readonly instance: Instance;
  readonly signal: AbortSignal;
  readonly #say: (line: string) => void;
  readonly #processes: Process[] = [];

  constructor(instance: Instance, signal: AbortSignal, say: (line: string) => void) {
    this.instance = instance;
    this.signal = signal;
    this.#say = say;
  }

  /** Sees to it that the process runs. Tells whether it had to be started. */
  async run(process: Process): Promise<boolean> {
    this.signal.throwIfAborted();
    this.#processes.push(process);
    if ((await ensureRunning(this.instance, process)) === 'running') return false;
    this.#say(`  started ${process.name}`);
    return true;
  }

  /** Waits until every process so far does its work. */
  async untilHealthy(): Promise<void> {
    for (const { name, health } of this.#processes) {
      await this.until(`${name} is healthy`, async () => health === undefined || answers(health));
    }
    await this.#requireAlive('the cluster is ready');
  }

  /** Waits until `check` holds. A process that ends meanwhile ends the wait, with its last words. */
  async until(what: string, check: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + PATIENCE_SECONDS * 1000;
    while (!(await check())) {
      await this.#requireAlive(what);
      if (performance.now() > deadline) {
        throw new Problem(
          `Waited ${PATIENCE_SECONDS} s in vain for: ${what}.`,
          `The logs are in ${logDirectory(this.instance)}. \`make cluster-down\` and \`make cluster\` start from nothing.`,
        );
      }
      await sleep(100, undefined, { signal: this.signal });
    }
  }

  async #requireAlive(what: string): Promise<void> {
    for (const { name } of this.#processes) {
      if (await isRunning(this.instance, name)) continue;
      const words = await lastWords(this.instance, name);
      const remedy = /inotify|too many open files/.test(words)
        ? 'Several clusters watch more files than Linux lets one user: stop some, or raise the limit with `sysctl fs.inotify.max_user_instances=1024`.'
        : 'Try again; `make cluster-down` and `make cluster` start from nothing.';
      throw new Problem(
        `${name} ended while we waited for: ${what}. Its last words:\n${words}`,
        `The whole log is ${logFile(this.instance, name)}. ${remedy}`,
      );
    }
  }
}
