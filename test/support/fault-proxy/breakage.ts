/** Ways in which the answer to a watch can come to a bad end. */
import { type ClientHttp2Stream, constants, type ServerHttp2Stream } from 'node:http2';
import { statusOf } from './statuses.ts';

export interface Breakage {
  /** An ERROR event instead of the next one; half of the next event and an orderly end; half of it and a broken stream. */
  readonly how: 'expired' | 'half' | 'torn';
  /** Not before this time is over. */
  readonly afterMs: number;
}

const NEWLINE = 0x0a;

/** Passes on what comes, until it is time; all of it, if the signal comes first. */
export function breakOff(
  from: ClientHttp2Stream,
  to: ServerHttp2Stream,
  { how, afterMs }: Breakage,
  signal: AbortSignal,
): void {
  const due = performance.now() + afterMs;
  let isBetweenEvents = true;
  const expire = () => {
    if (!isBetweenEvents || to.writableEnded || to.destroyed || signal.aborted) return;
    from.removeAllListeners('data').resume();
    to.end(`${JSON.stringify({ type: 'ERROR', object: statusOf(410) })}\n`);
  };
  from.on('data', (chunk: Buffer) => {
    if (performance.now() < due || !isBetweenEvents || signal.aborted) {
      isBetweenEvents = chunk.at(-1) === NEWLINE;
      to.write(chunk);
    } else if (how === 'expired') expire();
    else breakIn(chunk, from, to, how);
  });
  from.once('end', () => to.end());
  if (how !== 'expired') return;
  const timer = setTimeout(expire, afterMs);
  to.once('close', () => clearTimeout(timer));
}

function breakIn(chunk: Buffer, from: ClientHttp2Stream, to: ServerHttp2Stream, how: 'half' | 'torn'): void {
  from.removeAllListeners('data').resume();
  const half = chunk.subarray(0, Math.ceil((chunk.length - 1) / 2));
  if (how === 'half') to.end(half);
  else to.write(half, () => to.close(constants.NGHTTP2_INTERNAL_ERROR));
}
