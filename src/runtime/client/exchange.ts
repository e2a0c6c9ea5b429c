/** One question and its answer, on one stream. */
import { type ClientHttp2Stream, constants, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import type { Session } from './session.ts';

export interface Question {
  readonly headers: OutgoingHttpHeaders;
  readonly body?: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** To be read to the end, or ended by `return`: until then the stream is open. Throws when the answer breaks off. */
  readonly chunks: AsyncGenerator<Buffer, void>;
}

/** Opens the stream before it returns; resolves with the head of the answer. The signal ends all of it at any time. */
export async function send(session: Session, { headers, body }: Question, signal: AbortSignal): Promise<Answer> {
  const stream = session.request(headers, body === undefined);
  const abort = () => cancel(stream);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  if (body !== undefined) stream.end(body);
  return new Promise((resolve, reject) => {
    let isAnswered = false;
    stream.once('response', (head) => {
      isAnswered = true;
      resolve({ status: head[':status'] ?? 0, headers: head, chunks: chunksOf(stream, session, signal) });
    });
    stream.once('close', () => {
      signal.removeEventListener('abort', abort);
      if (!isAnswered) reject(signal.aborted ? (signal.reason as Error) : session.lossOf(stream));
    });
  });
}

/** Not `for await` over the stream itself: Node takes one whose answer came all at once for broken off, though it can be read. */
async function* chunksOf(
  stream: ClientHttp2Stream,
  session: Session,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void> {
  let isOver = stream.destroyed;
  let wake = () => {};
  const over = () => {
    isOver = true;
    wake();
  };
  stream.on('readable', () => wake());
  stream.once('end', over).once('close', over);
  try {
    for (;;) {
      const chunk = stream.read() as Buffer | null;
      if (chunk !== null) yield chunk;
      else if (isOver) break;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
    signal.throwIfAborted();
    // A stream that was cut off ends like a complete one; only the code tells.
    if (!stream.readableEnded || stream.rstCode !== constants.NGHTTP2_NO_ERROR) throw session.lossOf(stream);
  } finally {
    if (!isOver) cancel(stream);
  }
}

function cancel(stream: ClientHttp2Stream): void {
  stream.close(constants.NGHTTP2_CANCEL);
  stream.destroy(); // does not wait for someone to read what has come already
}

export async function textOf({ chunks }: Answer): Promise<string> {
  const parts: Buffer[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts).toString('utf8');
}
