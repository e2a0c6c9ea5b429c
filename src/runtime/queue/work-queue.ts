/** The names that have work to do: each once, none twice at once, changes before refreshes, and after a failure not at once. */
import { type Clock, systemClock } from '../clock.ts';
import { type Backoff, backoffMs } from './backoff.ts';
import { Delays } from './delays.ts';

/** Something has changed, or it is merely time to look again. */
export type Priority = 'change' | 'refresh';

/** Calls for metrics. `length`, `running` and the times of what runs are for those that ask by themselves. */
export interface QueueHooks {
  /** Not told of a key that is due already. */
  added?(priority: Priority): void;
  taken?(waitedMs: number): void;
  retried?(failures: number): void;
  finished?(ranMs: number): void;
}

export interface WorkQueueOptions {
  readonly backoff?: Backoff;
  readonly hooks?: QueueHooks;
  readonly clock?: Clock;
  readonly random?: () => number;
}

const BACKOFF: Backoff = { baseMs: 5, capMs: 5 * 60_000 };

/** However many changes there are, one key in ten is a refresh if any waits: statuses age, but do not stop. */
const CHANGES_PER_REFRESH = 9;

/**
 * A key is in one place: delayed, waiting in a lane, or running. Whoever adds it asks for a look at the present state, so an earlier
 * time replaces a later one, and what is added while it runs makes it run once more afterwards.
 */
export class WorkQueue {
  /** Waiting keys in their order, with the time since when. */
  readonly #lanes: Record<Priority, Map<string, number>> = { change: new Map(), refresh: new Map() };
  readonly #running = new Map<string, { readonly since: number; again?: Priority }>();
  readonly #failures = new Map<string, number>();
  readonly #delays: Delays<Priority>;
  readonly #takers: ((key: string | undefined) => void)[] = [];
  readonly #backoff: Backoff;
  readonly #hooks: QueueHooks;
  readonly #clock: Clock;
  readonly #random: () => number;
  #changesInARow = 0;
  #isShutDown = false;

  constructor({ backoff = BACKOFF, hooks = {}, clock = systemClock, random = Math.random }: WorkQueueOptions = {}) {
    this.#backoff = backoff;
    this.#hooks = hooks;
    this.#clock = clock;
    this.#random = random;
    this.#delays = new Delays((key, priority) => this.add(key, priority), clock);
  }

  /** How many keys wait for a worker. */
  get length(): number {
    return this.#lanes.change.size + this.#lanes.refresh.size;
  }

  /** How many keys wait for their time. */
  get delayed(): number {
    return this.#delays.size;
  }

  get running(): number {
    return this.#running.size;
  }

  /** For how long the key that was taken first among the running ones has been running. */
  get longestRunningMs(): number {
    const first = this.#running.values().next().value; // they are in the order in which they were taken
    return first ? this.#clock.now() - first.since : 0;
  }

  /** For how long all running keys together have been running. */
  get unfinishedMs(): number {
    const now = this.#clock.now();
    return this.#running.values().reduce((sum, { since }) => sum + now - since, 0);
  }

  add(key: string, priority: Priority = 'change'): void {
    if (this.#isShutDown) return;
    if (!this.#isDue(key)) this.#hooks.added?.(priority);
    const wanted = stronger(priority, this.#delays.get(key)?.value);
    this.#delays.delete(key);
    const running = this.#running.get(key);
    if (running) running.again = stronger(wanted, running.again);
    else this.#enqueue(key, wanted);
  }

  addAfter(key: string, ms: number, priority: Priority = 'refresh'): void {
    if (this.#isShutDown || this.#isDue(key)) return;
    const at = this.#clock.now() + ms;
    const planned = this.#delays.get(key);
    this.#delays.set(key, Math.min(at, planned?.at ?? at), stronger(priority, planned?.value));
  }

  /** Adds the key again after a failure, later each time, up to a limit. Gives back in how many milliseconds. */
  retry(key: string, capMs = this.#backoff.capMs): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    this.#hooks.retried?.(failures + 1);
    const ms = backoffMs({ ...this.#backoff, capMs }, failures, this.#random);
    this.addAfter(key, ms, 'change');
    return ms;
  }

  /** After a success, the next failure is the first one again. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** The next key, as soon as there is one, or nothing once the queue is shut down. Each is given back by `done`. */
  async take(): Promise<string | undefined> {
    if (this.#isShutDown) return undefined;
    return this.#next() ?? new Promise((resolve) => this.#takers.push(resolve));
  }

  done(key: string): void {
    const running = this.#running.get(key);
    if (!running) return;
    this.#running.delete(key);
    this.#hooks.finished?.(this.#clock.now() - running.since);
    if (running.again && !this.#isShutDown) this.#enqueue(key, running.again);
  }

  /** Gives out no more work. What runs may finish. */
  shutDown(): void {
    this.#isShutDown = true;
    this.#delays.clear();
    this.#lanes.change.clear();
    this.#lanes.refresh.clear();
    for (const resolve of this.#takers.splice(0)) resolve(undefined);
  }

  #isDue(key: string): boolean {
    const { change, refresh } = this.#lanes;
    return change.has(key) || refresh.has(key) || this.#running.get(key)?.again !== undefined;
  }

  #enqueue(key: string, priority: Priority): void {
    const { change, refresh } = this.#lanes;
    if (change.has(key) || (refresh.has(key) && priority === 'refresh')) return;
    const since = refresh.get(key) ?? this.#clock.now();
    refresh.delete(key);
    this.#lanes[priority].set(key, since);
    if (this.#takers.length > 0) this.#takers.shift()?.(this.#next());
  }

  #next(): string | undefined {
    const { change, refresh } = this.#lanes;
    const isRefreshDue = refresh.size > 0 && (change.size === 0 || this.#changesInARow >= CHANGES_PER_REFRESH);
    const lane = isRefreshDue ? refresh : change;
    const first = lane.entries().next().value;
    if (!first) return undefined;
    const [key, waitingSince] = first;
    lane.delete(key);
    this.#changesInARow = isRefreshDue ? 0 : this.#changesInARow + 1;
    const now = this.#clock.now();
    this.#running.set(key, { since: now });
    this.#hooks.taken?.(now - waitingSince);
    return key;
  }
}

function stronger(one: Priority, other: Priority | undefined): Priority {
  return other === 'change' ? other : one;
}
