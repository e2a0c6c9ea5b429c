/** The starting of one instance: runs its processes, waits for what they bring about, and says what it does. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Instance } from './instance.ts';
import { Problem } from './problem.ts';
import { ensureRunning, isRunning, lastWords, logDirectory, logFile, type Process } from './processes.ts';

const PATIENCE_SECONDS = 180;

export class Launch {
  readonly instance: Instance;
  readonly signal: AbortSignal;
  readonly #say: (line: string) => void;

  constructor(instance: Instance, signal: AbortSignal, say: (line: string) => void) {
    this.instance = instance;
    this.signal = signal;
    this.#say = say;
  }

  /** Sees to it that the processes run. Tells whether any had to be started. */
  async run(...processes: Process[]): Promise<boolean> {
    let any = false;
    for (const process of processes) {
      this.signal.throwIfAborted();
      if ((await ensureRunning(this.instance, process)) === 'running') continue;
      this.#say(`  started ${process.name}`);
      any = true;
    }
    return any;
  }

  /** Waits until `check` holds. A process that is needed for it and ends meanwhile ends the wait, with its last words. */
  async until(what: string, needed: readonly string[], check: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + PATIENCE_SECONDS * 1000;
    while (!(await check())) {
      for (const name of needed) {
        if (!(await isRunning(this.instance, name))) throw await this.#ended(name, what);
      }
      if (performance.now() > deadline) {
        throw new Problem(
          `Waited ${PATIENCE_SECONDS} s in vain for: ${what}.`,
          `The logs are in ${logDirectory(this.instance)}. \`make cluster-down\` and \`make cluster\` start from nothing.`,
        );
      }
      await sleep(100, undefined, { signal: this.signal });
    }
  }

  async #ended(name: string, what: string): Promise<Problem> {
    return new Problem(
      `${name} ended while we waited for: ${what}. Its last words:\n${await lastWords(this.instance, name)}`,
      `The whole log is ${logFile(this.instance, name)}. \`make cluster-down\` and \`make cluster\` start from nothing.`,
    );
  }
}
