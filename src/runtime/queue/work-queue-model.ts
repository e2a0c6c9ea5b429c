/** What the work queue should do, for its test: one map from keys to where they are, searched each time. */
import type { Priority } from './work-queue.ts';

export class WorkQueueModel {
  readonly #keys = new Map<
    string,
    { due?: Priority; order?: number; running?: boolean; at?: number; planned?: Priority }
  >();
  readonly #order = { next: 0, row: 0 };

  #of(key: string) {
    const found = this.#keys.get(key) ?? {};
    this.#keys.set(key, found);
    return found;
  }

  add(key: string, priority: Priority) {
    const state = this.#of(key);
    const wanted = [priority, state.due, state.planned].includes('change') ? 'change' : 'refresh';
    if (state.due !== wanted) Object.assign(state, { due: wanted, order: this.#order.next++ });
    delete state.at;
    delete state.planned;
  }

  addAfter(key: string, at: number, priority: Priority) {
    const state = this.#of(key);
    if (state.due) return;
    state.at = Math.min(at, state.at ?? at);
    state.planned = [priority, state.planned].includes('change') ? 'change' : 'refresh';
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
    const [change, refresh] = [this.waiting('change'), this.waiting('refresh')];
    const isRefresh = refresh.length > 0 && (change.length === 0 || this.#order.row >= 9);
    this.#order.row = isRefresh ? 0 : this.#order.row + 1;
    const key = (isRefresh ? refresh : change)[0] ?? '';
    const state = this.#of(key);
    state.running = true;
    delete state.due;
    return key;
  }

  done(key: string) {
    const state = this.#of(key);
    state.running = false;
    if (state.due) state.order = this.#order.next++; // it joins the others now
  }
}
