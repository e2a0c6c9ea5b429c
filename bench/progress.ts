/** Lines that say how far it is, so that nobody has to wonder. */

const EVERY_MS = 5000;

const begin = performance.now();

export function say(text: string): void {
  const seconds = ((performance.now() - begin) / 1000).toFixed(0).padStart(4);
  process.stdout.write(`${seconds} s  ${text}\n`);
}

/** Says what is going on, then how far it is every few seconds, then how long it took in milliseconds. */
export async function timed<T>(what: string, work: Promise<T>, state: () => string = () => ''): Promise<[T, number]> {
  say(what);
  const since = performance.now();
  const timer = setInterval(
    () => say(`  … ${state() || `${((performance.now() - since) / 1000).toFixed(0)} s`}`),
    EVERY_MS,
  );
  try {
    return [await work, performance.now() - since];
  } finally {
    clearInterval(timer);
  }
}
