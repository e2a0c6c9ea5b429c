/** What the work queue should do, for its test: one map from keys to where they are, searched each time. */
import type { Priority, Task } from './work-queue.ts';

const ORDER: readonly Priority[] = ['wish', 'change', 'burden', 'refresh'];

const strongest = (priorities: readonly (Priority | undefined)[]): Priority =>
  ORDER.find((one) => priorities.includes(one)) ?? 'refresh';

export class WorkQueueModel {
  readonly #keys = new Map<
    string,
    { due?: Priority; order?: number; running?: Priority; since?: number; at?: number; planned?: Priority }
  >();
  readonly #taken: Record<Priority, number> = { wish: 0, change: 0, burden: 0, refresh: 0 };
  /** The end that the next one is taken from. */
  readonly #ends: Record<Priority, 0 | -1> = { wish: 0, change: 0, burden: 0, refresh: 0 };
  #rests: { readonly since: number; readonly end: number }[] = [];
  #wishedAt = -Infinity;
  #now = 0;
  #order = 0;

  #of(key: string) {
    const found = this.#keys.get(key) ?? {};
    this.#keys.set(key, found);
    return found;
  }

  add(key: string, priority: Priority) {
    const state = this.#of(key);
    if (priority === 'wish') this.#wishedAt = this.#now;
    const wanted = strongest([priority, state.due, state.planned]);
    if (state.due !== wanted) Object.assign(state, { due: wanted, order: this.#order++ });
    delete state.at;
    delete state.planned;
  }

  addAfter(key: string, at: number, priority: Priority) {
    const state = this.#of(key);
    if (state.due) return;
    state.at = Math.min(at, state.at ?? at);
    state.planned = strongest([priority, state.planned]);
  }

  pass(now: number) {
    this.#rests = this.#rests.filter(({ end }) => end > now);
    const due = [...this.#keys].filter(([, { at }]) => at !== undefined && at <= now);
    for (const [key, { planned, at = now }] of due.toSorted(([, a], [, b]) => (a.at ?? 0) - (b.at ?? 0))) {
      this.#now = at;
      this.add(key, planned ?? 'refresh');
    }
    this.#now = now;
  }

  get delayed(): number {
    return [...this.#keys.values()].filter(({ at }) => at !== undefined).length;
  }

  waiting(priority?: Priority) {
    return [...this.#keys]
      .filter(([, { due, running }]) => due && !running && (!priority || due === priority))
      .toSorted(([, a], [, b]) => (a.order ?? 0) - (b.order ?? 0))
      .map(([key]) => key);
  }

  /** Whether there is somebody who need not wait any longer. */
  get hasDue(): boolean {
    return this.#lanes().length > 0;
  }

  take(): Task {
    const lanes = this.#lanes();
    const [priority = 'refresh', keys = []] = lanes.find(([one]) => this.#taken[one] < 9) ?? lanes.at(-1) ?? [];
    for (const before of ORDER.slice(0, ORDER.indexOf(priority))) this.#taken[before] = 0;
    this.#taken[priority] += 1;
    const key = keys.at(this.#ends[priority]) ?? '';
    if (priority === 'wish' || priority === 'burden') this.#ends[priority] = this.#ends[priority] === 0 ? -1 : 0;
    const state = this.#of(key);
    Object.assign(state, { running: priority, since: this.#now });
    delete state.due;
    return { key, priority };
  }

  #lanes(): [Priority, string[]][] {
    const running = [...this.#keys.values()].filter((state) => state.running === 'burden');
    const begun = [...running, ...this.#rests].map(({ since = 0 }) => since);
    const isHeld = this.#now < this.#wishedAt + 500 && begun.some((since) => this.#now - since < 1000);
    return ORDER.filter((priority) => priority !== 'burden' || (begun.length < 4 && !isHeld))
      .map((priority): [Priority, string[]] => [priority, this.waiting(priority)])
      .filter(([, keys]) => keys.length > 0);
  }

  done(key: string) {
    const state = this.#of(key);
    const { since = 0 } = state;
    if (state.running === 'burden')
      this.#rests.push({ since, end: this.#now + Math.min(1000, 15 * (this.#now - since)) });
    delete state.running;
    if (state.due) state.order = this.#order++; // it joins the others now
  }
}
