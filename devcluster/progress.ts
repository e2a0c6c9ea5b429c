/** Builds the parts that are missing, two at a time, and shows what is being built, for how long, and what is left. */
import type { WriteStream } from 'node:tty';
import { build, isBuilt, type Part } from './parts.ts';

interface Running {
  readonly part: Part;
  readonly since: number;
  doing: string;
}

export interface ProgressOutput extends Pick<WriteStream, 'write'> {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

const LANES = 2;

/** Brings every part, and what it needs, into the cache. */
export async function buildMissing(parts: readonly Part[], signal: AbortSignal, output: ProgressOutput): Promise<void> {
  const all = withNeeds(parts).length;
  const missing = await missingParts(parts);
  if (missing.length === 0) {
    output.write(`${count(all)}: cached\n`);
    return;
  }
  const minutes = Math.ceil(seconds(missing) / 60);
  output.write(
    `${count(all)}: ${all - missing.length} cached, ${missing.length} to build (about ${minutes} min on two cores)\n`,
  );
  await new Builder(missing, signal, output).run();
}

/** Those of the parts, and of what they need, that the cache does not have. */
export async function missingParts(parts: readonly Part[]): Promise<Part[]> {
  const missing: Part[] = [];
  for (const part of withNeeds(parts)) if (!(await isBuilt(part))) missing.push(part);
  return missing;
}

/** The parts and all that they need, needs first, each once. */
function withNeeds(parts: readonly Part[]): Part[] {
  const seen = new Set<Part>();
  const visit = (part: Part): void => {
    if (seen.has(part)) return;
    part.needs?.forEach(visit);
    seen.add(part);
  };
  parts.forEach(visit);
  return [...seen];
}

function count(parts: number): string {
  return parts === 1 ? '1 part' : `${parts} parts`;
}

/** About how long the parts take to build. */
export function seconds(parts: readonly Part[]): number {
  return parts.reduce((total, part) => total + part.seconds, 0);
}

class Builder {
  readonly #waiting: Part[];
  readonly #running = new Set<Running>();
  readonly #total: number;
  readonly #signal: AbortSignal;
  readonly #abort = new AbortController();
  readonly #display: Display;
  #done = 0;

  constructor(missing: readonly Part[], signal: AbortSignal, output: ProgressOutput) {
    this.#waiting = [...missing];
    this.#total = missing.length;
    // The first failure stops the other lane too: its result could not be used.
    this.#signal = AbortSignal.any([signal, this.#abort.signal]);
    this.#display = new Display(output, () => this.#state());
  }

  async run(): Promise<void> {
    try {
      const lanes = await Promise.allSettled(Array.from({ length: LANES }, () => this.#lane()));
      const failures = lanes.filter((lane) => lane.status === 'rejected').map((lane): unknown => lane.reason);
      if (failures.length > 0) throw failures.find((reason) => !isAbort(reason)) ?? failures[0];
    } finally {
      this.#display.stop();
    }
  }

  async #lane(): Promise<void> {
    for (;;) {
      this.#signal.throwIfAborted();
      const part = this.#next();
      if (part) await this.#build(part);
      else if (this.#waiting.length === 0) return;
      else await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  /** The first waiting part that nothing unfinished stands in the way of. */
  #next(): Part | undefined {
    const running = [...this.#running].map(({ part }) => part);
    const unfinished = new Set([...running, ...this.#waiting]);
    const index = this.#waiting.findIndex(
      (part) =>
        !part.needs?.some((need) => unfinished.has(need)) &&
        !(part.oneAtATime !== undefined && running.some((other) => other.oneAtATime === part.oneAtATime)),
    );
    return index === -1 ? undefined : this.#waiting.splice(index, 1)[0];
  }

  async #build(part: Part): Promise<void> {
    const running: Running = { part, since: Date.now(), doing: '' };
    this.#running.add(running);
    const title = titleOf(part);
    this.#display.line(`  building ${title}`);
    try {
      const report = (doing: string) => {
        running.doing = doing;
      };
      await build(part, { signal: this.#signal, report });
      this.#done += 1;
      this.#display.line(`  built    ${title}  in ${duration(running.since)}  (${this.#done} of ${this.#total})`);
    } catch (error) {
      this.#abort.abort(error);
      throw error;
    } finally {
      this.#running.delete(running);
    }
  }

  #state(): string {
    const running = [...this.#running];
    const what = running
      .map(({ part, since, doing }) => `${titleOf(part)} ${duration(since)}${doing && `: ${doing}`}`)
      .join(' | ');
    return `  ${this.#done} of ${this.#total} built, about ${this.#minutesLeft()} min left | ${what}`;
  }

  #minutesLeft(): number {
    const running = [...this.#running].reduce(
      (total, { part, since }) => total + Math.max(5, part.seconds - secondsSince(since)),
      0,
    );
    return Math.ceil((seconds(this.#waiting) + running) / 60);
  }
}

function isAbort(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'AbortError';
}

/** Lines that stay, and, on a terminal, one line below them that is rewritten; elsewhere that line is printed now and then. */
class Display {
  readonly #output: ProgressOutput;
  readonly #state: () => string;
  readonly #timer: NodeJS.Timeout;

  constructor(output: ProgressOutput, state: () => string) {
    this.#output = output;
    this.#state = state;
    this.#timer = output.isTTY
      ? setInterval(() => this.#redraw(), 500)
      : setInterval(() => output.write(`${state()}\n`), 20_000);
  }

  line(text: string): void {
    this.#output.write(`${this.#output.isTTY ? '\r\x1b[K' : ''}${text}\n`);
  }

  stop(): void {
    clearInterval(this.#timer);
    if (this.#output.isTTY) this.#output.write('\r\x1b[K');
  }

  #redraw(): void {
    this.#output.write(`\r\x1b[K${this.#state().slice(0, (this.#output.columns ?? 80) - 1)}`);
  }
}

function titleOf(part: Part): string {
  return `${part.name} ${part.version}`;
}

function secondsSince(since: number): number {
  return Math.round((Date.now() - since) / 1000);
}

function duration(since: number): string {
  const total = secondsSince(since);
  return total < 60 ? `${total} s` : `${Math.floor(total / 60)} min ${String(total % 60).padStart(2, '0')} s`;
}
