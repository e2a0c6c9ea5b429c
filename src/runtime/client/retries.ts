/** Which failures of a request are not worth telling the caller, because asking again is safe and likely to help. */
import { ApiError, ConnectionLost } from './errors.ts';

/** How often what has happened to a request. */
export interface History {
  refused: number;
  lost: number;
  unauthorized: number;
  busy: number;
}

const MOST = { refused: 3, lost: 1, unauthorized: 1, busy: 5 } as const;
const SHORT_PAUSE_MS = 100;
/** The server asks for patience with 1 s mostly; who is sent away for longer is told so instead of kept waiting. */
const LONGEST_PAUSE_S = 30;

/** Names the failure if the request may be sent again; `isRead`: it changes nothing, however often it is sent. */
export function repeatable(error: unknown, isRead: boolean): keyof History | undefined {
  if (error instanceof ConnectionLost) {
    if (error.reason === 'refused') return 'refused';
    // Before an unreachable server, and after a whole time-out, it is the caller's turn to decide.
    return isRead && (error.reason === 'closed' || error.reason === 'silent') ? 'lost' : undefined;
  }
  if (!(error instanceof ApiError)) return undefined;
  if (error.status === 401) return 'unauthorized';
  const isAskedBack = error.status === 503 && isRead && error.retryAfterSeconds !== undefined;
  return error.status === 429 || isAskedBack ? 'busy' : undefined; // 429: turned away before anything was done
}

/** Milliseconds to wait before the next attempt; nothing: it was the last one. Counts in the history. */
export function pauseAfter(
  error: unknown,
  isRead: boolean,
  history: History,
  random: () => number,
): number | undefined {
  const failure = repeatable(error, isRead);
  if (failure === undefined || history[failure] >= MOST[failure]) return undefined;
  const before = history[failure];
  history[failure] += 1;
  if (failure === 'unauthorized') return 0;
  if (failure !== 'busy') return SHORT_PAUSE_MS * 2 ** before * random();
  const seconds = (error instanceof ApiError ? error.retryAfterSeconds : undefined) ?? 1;
  // Never earlier than asked for, and not all at once.
  return seconds > LONGEST_PAUSE_S ? undefined : 1000 * seconds * (1 + random() / 4) + SHORT_PAUSE_MS * random();
}
