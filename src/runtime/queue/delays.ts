/** Keys that are not due yet. Each has one time, and one timer serves them all. */
import { type Clock, systemClock } from '../clock.ts';

interface Entry<Value> {
  readonly key: string;
  readonly at: number;
  readonly value: Value;
}

/** How many outdated entries the heap may hold beside as many as are valid. */
const SLACK = 64;

export class Delays<Value> {
  readonly #due: (key: string, value: Value) => void;
  readonly #clock: Clock;
  /** What counts. The heap may hold outdated entries as well: they are passed over when their time comes. */
  readonly #entries = new Map<string, Entry<Value>>();
  /** The earliest is at 0, and no entry is earlier than its parent at (index - 1) >> 1. */
  #heap: Entry<Value>[] = [];
  #timer: { readonly at: number; readonly cancel: () => void } | undefined;

  constructor(due: (key: string, value: Value) => void, clock: Clock = systemClock) {
    this.#due = due;
    this.#clock = clock;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): { readonly at: number; readonly value: Value } | undefined {
    return this.#entries.get(key);
  }

  set(key: string, at: number, value: Value): void {
    const entry = { key, at, value };
    this.#entries.set(key, entry);
    push(this.#heap, entry);
    if (this.#heap.length > 2 * this.#entries.size + SLACK) this.#compact();
    this.#arm();
  }

  delete(key: string): void {
    this.#entries.delete(key); // the timer may ring in vain for it, which is cheaper than to look for another one
  }

  clear(): void {
    this.#entries.clear();
    this.#heap = [];
    this.#arm();
  }

  /** Keys that get a new time again and again would fill the heap with old ones. */
  #compact(): void {
    this.#heap = [...this.#entries.values()].toSorted((a, b) => a.at - b.at); // what is sorted is a heap
  }

  #arm(): void {
    const at = this.#heap[0]?.at;
    if (at === this.#timer?.at) return;
    this.#timer?.cancel();
    this.#timer =
      at === undefined
        ? undefined
        : { at, cancel: this.#clock.after(Math.ceil(Math.max(0, at - this.#clock.now())), () => this.#ring()) };
  }

  #ring(): void {
    this.#timer = undefined;
    const now = this.#clock.now();
    for (let first = this.#heap[0]; first && first.at <= now; first = this.#heap[0]) {
      pop(this.#heap);
      if (this.#entries.get(first.key) !== first) continue;
      this.#entries.delete(first.key);
      this.#due(first.key, first.value);
    }
    this.#arm();
  }
}

interface Timed {
  readonly at: number;
}

function push<T extends Timed>(heap: T[], entry: T): void {
  let index = heap.length;
  for (; index > 0; index = (index - 1) >> 1) {
    const parent = heap[(index - 1) >> 1];
    if (!parent || parent.at <= entry.at) break;
    heap[index] = parent;
  }
  heap[index] = entry;
}

/** Removes the first: the last takes its place, and sinks below its earlier children. */
function pop(heap: Timed[]): void {
  const entry = heap.pop();
  if (!entry || heap.length === 0) return;
  let index = 0;
  for (;;) {
    const left = 2 * index + 1;
    const [a, b] = [heap[left], heap[left + 1]];
    const child = b && a && b.at < a.at ? b : a;
    if (!child || child.at >= entry.at) break;
    heap[index] = child;
    index = child === a ? left : left + 1;
  }
  heap[index] = entry;
}
