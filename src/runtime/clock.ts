/** Time, as something that is handed in. */

export interface Clock {
  /** Milliseconds since some moment. It never goes back. */
  now(): number;
  /** Calls back once, so many milliseconds from now. What it gives back takes that back. */
  after(ms: number, callback: () => void): () => void;
}

/** Node runs a timer of more milliseconds at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(ms, LONGEST_TIMER));
    return () => clearTimeout(timer);
  },
};
