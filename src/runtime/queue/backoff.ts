/** How long to wait before the next try: twice as long each time, up to a limit, and never in step with others. */

export interface Backoff {
  readonly baseMs: number;
  readonly capMs: number;
}

/** The wait after so many failures before this one: between half and the whole of base × 2^failures. */
export function backoffMs({ baseMs, capMs }: Backoff, failures: number, random: () => number): number {
  const whole = Math.min(capMs, baseMs * 2 ** failures);
  return whole * (0.5 + random() / 2);
}
