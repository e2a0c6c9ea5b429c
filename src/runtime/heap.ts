/** What V8 is told to do with the heap, besides the flags that the image starts Node with. */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';

/** Up to so much alive, and from there on. */
const SMALL_BYTES = 25_000_000;
const PERCENT_PER_BYTE = 3 / 1_000_000;
const MOST_PERCENT = 150;

/** Collects what nobody holds. Node has to be started with --expose-gc for this and the other, as the image does. */
export function collectGarbage(): void {
  globalThis.gc?.({ type: 'major', execution: 'sync' });
}

/** Collects everything, with the pages that V8 would keep for later: what is alive moves together, which takes up to 8 MB more for a moment. */
export function compactHeap(): void {
  globalThis.gc?.({ type: 'major', flavor: 'last-resort', execution: 'sync' });
}

/** What nobody holds is found when V8 has looked through all of the heap, and not before: so it tells that this has happened. */
const looks = new FinalizationRegistry<number>(followGrowth);

/** From now on, whenever V8 has looked through the heap, it is told by how much that may grow, which counts after its next look. */
export function followGrowth(leastPercent: number): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent(getHeapStatistics().used_heap_size, leastPercent)}`);
  looks.register({}, leastPercent);
}

/**
 * By how much the heap may grow before V8 looks through all of it by itself. A small one by little: it is memory that counts.
 * A large one by more: to look through it takes as long as much is alive in it, and would come again and again.
 */
export function growthPercent(bytesAlive: number, leastPercent: number): number {
  const more = PERCENT_PER_BYTE * Math.max(0, bytesAlive - SMALL_BYTES);
  return Math.round(Math.max(Math.min(leastPercent + more, MOST_PERCENT), leastPercent));
}
