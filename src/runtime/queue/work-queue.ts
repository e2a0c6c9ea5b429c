/** The names that have work to do: each once, none twice at once, the most urgent first, and after a failure not at once. */
import { type Clock, systemClock } from '../clock.ts';
import { type Backoff, backoffMs } from './backoff.ts';
import { Delays } from './delays.ts';
import { Restraint } from './restraint.ts';

/** Somebody wants something new; something has changed; much work for others is about to begin; it is merely time to look again. */
export type Priority = 'wish' | 'change' | 'burden' | 'refresh';

const PRIORITIES: readonly Priority[] = ['wish', 'change', 'burden', 'refresh'];

/** What a worker is given, and as what it was waiting. */
export interface Task {
  readonly key: string;
  readonly priority: Priority;
}

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

/** What is merely looked at again, and not soon, comes together with others: to wake up costs more than to look. */
const TOGETHER_MS = 500;

/** However many come first, one key in ten is of those that come after them: who waits ages, but does not stop. */
const MOST_IN_A_ROW = 9;

/**
 * A key is in one place: delayed, waiting in a lane, or running. Whoever adds it asks for a look at the present state, so an earlier
 * time replaces a later one, and what is added while it runs makes it run once more afterwards.
 */
export class WorkQueue {
  /** Waiting keys in their order, with the time since when. */
  readonly #lanes: Record<Priority, Map<string, number>> = {
    wish: new Map(),
    change: new Map(),
    burden: new Map(),
    refresh: new Map(),
  };
  readonly #running = new Map<string, { readonly since: number; readonly priority: Priority; again?: Priority }>();
  readonly #restraint: Restraint;
  readonly #failures = new Map<string, number>();
  readonly #delays: Delays<Priority>;
  readonly #takers: ((task: Task | undefined) => void)[] = [];
  readonly #backoff: Backoff;
  readonly #hooks: QueueHooks;
  readonly #clock: Clock;
  readonly #random: () => number;
  /** How many were taken from a lane since one that comes after it had its turn. */
  readonly #inARow = { wish: 0, change: 0, burden: 0, refresh: 0 };
  /** Of the lanes in which the newest has its turn, too: whether it is the next. */
  readonly #turnsOfNewest: Partial<Record<Priority, boolean>> = { wish: false, burden: false };
  #isShutDown = false;

  constructor({ backoff = BACKOFF, hooks = {}, clock = systemClock, random = Math.random }: WorkQueueOptions = {}) {
    this.#backoff = backoff;
    this.#hooks = hooks;
    this.#clock = clock;
    this.#random = random;
    this.#restraint = new Restraint(() => this.#handOut(), clock);
    this.#delays = new Delays((key, priority) => this.add(key, priority), clock);
  }

  /** How many keys wait for a worker. */
  get length(): number {
    return PRIORITIES.reduce((sum, priority) => sum + this.#lanes[priority].size, 0);
  }

  /** How many of them are of somebody who wants something new. */
  get wishes(): number {
    return this.#lanes.wish.size;
  }

  /** How many of them wait until others have done with their burdens. */
  get burdens(): number {
    return this.#lanes.burden.size;
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
    if (priority === 'wish') this.#restraint.wished();
    const wanted = stronger(priority, this.#delays.get(key)?.value);
    this.#delays.delete(key);
    const running = this.#running.get(key);
    if (running) running.again = stronger(wanted, running.again);
    else this.#enqueue(key, wanted);
  }

  addAfter(key: string, ms: number, priority: Priority = 'refresh'): void {
    if (this.#isShutDown || this.#isDue(key)) return;
    const isLeisurely = priority === 'refresh' && ms >= 2 * TOGETHER_MS;
    const time = this.#clock.now() + ms;
    const at = isLeisurely ? Math.ceil(time / TOGETHER_MS) * TOGETHER_MS : time;
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

  /** The next one, as soon as there is one, or nothing once the queue is shut down. Each is given back by `done`. */
  async take(): Promise<Task | undefined> {
    if (this.#isShutDown) return undefined;
    return this.#next() ?? new Promise((resolve) => this.#takers.push(resolve));
  }

  done(key: string): void {
    const running = this.#running.get(key);
    if (!running) return;
    const ranMs = this.#clock.now() - running.since;
    this.#running.delete(key);
    this.#hooks.finished?.(ranMs);
    if (this.#isShutDown) return;
    if (running.priority === 'burden') this.#restraint.end(running.since);
    if (running.again) this.#enqueue(key, running.again);
  }

  /** Gives out no more work. What runs may finish. */
  shutDown(): void {
    this.#isShutDown = true;
    this.#delays.clear();
    for (const priority of PRIORITIES) this.#lanes[priority].clear();
    this.#restraint.stop();
    for (const resolve of this.#takers.splice(0)) resolve(undefined);
  }

  #isDue(key: string): boolean {
    return this.#laneOf(key) !== undefined || this.#running.get(key)?.again !== undefined;
  }

  #laneOf(key: string): Priority | undefined {
    return PRIORITIES.find((priority) => this.#lanes[priority].has(key));
  }

  #enqueue(key: string, priority: Priority): void {
    const present = this.#laneOf(key);
    if (present && stronger(priority, present) === present) return;
    const since = (present && this.#lanes[present].get(key)) ?? this.#clock.now();
    if (present) this.#lanes[present].delete(key);
    this.#lanes[priority].set(key, since);
    this.#handOut();
  }

  /** To those who have been waiting for it longest, as long as there is something that may begin. */
  #handOut(): void {
    for (let [taker] = this.#takers; taker; [taker] = this.#takers) {
      const task = this.#next();
      if (!task) return;
      this.#takers.shift();
      taker(task);
    }
  }

  /** The first lane in which somebody waits, unless it is the turn of those after it. */
  #dueLane(): Priority | undefined {
    const mayBegin = (priority: Priority) => priority !== 'burden' || this.#restraint.hasRoom;
    const busy = PRIORITIES.filter((priority) => this.#lanes[priority].size > 0 && mayBegin(priority));
    const due = busy.find((priority) => this.#inARow[priority] < MOST_IN_A_ROW) ?? busy.at(-1);
    for (const priority of due ? PRIORITIES.slice(0, PRIORITIES.indexOf(due)) : []) this.#inARow[priority] = 0;
    return due;
  }

  /** Every other wish or burden is the newest one: who wants something while hundreds wait does not wait for all of them, nor for ever. */
  #firstIn(lane: Priority): string | undefined {
    const waiting = this.#lanes[lane];
    const isTurnOfNewest = this.#turnsOfNewest[lane];
    if (isTurnOfNewest !== undefined) this.#turnsOfNewest[lane] = !isTurnOfNewest;
    const keys = isTurnOfNewest ? waiting.keys().drop(waiting.size - 1) : waiting.keys();
    return keys.next().value;
  }

  #next(): Task | undefined {
    const due = this.#dueLane();
    const key = due && this.#firstIn(due);
    if (due === undefined || key === undefined) return undefined;
    const now = this.#clock.now();
    const waitingSince = this.#lanes[due].get(key) ?? now;
    this.#lanes[due].delete(key);
    this.#inARow[due] += 1;
    if (due === 'burden') this.#restraint.begin(now);
    this.#running.set(key, { since: now, priority: due });
    this.#hooks.taken?.(now - waitingSince);
    return { key, priority: due };
  }
}

function stronger(one: Priority, other: Priority | undefined): Priority {
  return other !== undefined && PRIORITIES.indexOf(other) < PRIORITIES.indexOf(one) ? other : one;
}
