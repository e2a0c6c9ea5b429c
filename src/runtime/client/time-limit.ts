/** A signal for one call: it goes off with the caller's own, or when time is up. */
import { ConnectionLost } from './errors.ts';

export class TimeLimit {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #follow = () => this.#controller.abort(this.#outer?.reason);

  // AbortSignal.any would do, but it keeps something behind in a caller's signal that outlives a million calls.
  constructor(ms: number, outer: AbortSignal | undefined) {
    this.#outer = outer;
    this.#timer = setTimeout(() => {
      this.#controller.abort(new ConnectionLost('timeout', `no answer in ${ms / 1000} s`));
    }, ms);
    if (outer?.aborted) this.#follow();
    else outer?.addEventListener('abort', this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** From now on there is time without end; the caller's signal still counts. */
  lift(): void {
    clearTimeout(this.#timer);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#follow);
  }
}

/** What the promise gives, unless the signal goes off first. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    void promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
