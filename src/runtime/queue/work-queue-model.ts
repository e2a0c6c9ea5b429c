/** What the work queue should do, for its test: one map from keys to where they are, searched each time. */
import type { Priority } from './work-queue.ts';

const ORDER: readonly Priority[] = ['wish', 'change', 'refresh'];

const strongest = (priorities: readonly (Priority | undefined)[]): Priority =>
  ORDER.find((one) => priorities.includes(one)) ?? 'refresh';

export class WorkQueueModel {
  readonly #keys = new Map<
    string,
    { due?: Priority; order?: number; running?: boolean; at?: number; planned?: Priority }
  >();
  readonly #order = { next: 0, wishes: 0, changes: 0 };

  #of(key: string) {
    const found = this.#keys.get(key) ?? {};
    this.#keys.set(key, found);
    return found;
  }

  add(key: string, priority: Priority) {
    const state = this.#of(key);
    const wanted = strongest([priority, state.due, state.planned]);
    if (state.due !== wanted) Object.assign(state, { due: wanted, order: this.#order.next++ });
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
    const due = [...this.#keys].filter(([, { at }]) => at !== undefined && at <= now);
    for (const [key, { planned }] of due.toSorted(([, a], [, b]) => (a.at ?? 0) - (b.at ?? 0)))
      this.add(key, planned ?? 'refresh');
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

  take() {
    const key = this.#due()[0] ?? '';
    const state = this.#of(key);
    state.running = true;
    delete state.due;
    return key;
  }

  #due(): readonly string[] {
    const [wishes = [], changes = [], refreshes = []] = ORDER.map((priority) => this.waiting(priority));
    const order = this.#order;
    if (wishes.length > 0 && (order.wishes < 9 || changes.length + refreshes.length === 0)) {
      order.wishes += 1;
      return order.wishes % 2 === 0 ? wishes.toReversed() : wishes;
    }
    order.wishes = 0;
    const isRefresh = refreshes.length > 0 && (changes.length === 0 || order.changes >= 9);
    order.changes = isRefresh ? 0 : order.changes + 1;
    return isRefresh ? refreshes : changes;
  }

  done(key: string) {
    const state = this.#of(key);
    state.running = false;
    if (state.due) state.order = this.#order.next++; // it joins the others now
  }
}
