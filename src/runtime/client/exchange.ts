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
  const abort = () => {
    stream.close(constants.NGHTTP2_CANCEL);
    stream.destroy(); // does not wait for someone to read what has come already
  };
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  if (body !== undefined) stream.end(body);
  return new Promise((resolve, reject) => {
    stream.once('response', (head) => {
      resolve({ status: head[':status'] ?? 0, headers: head, chunks: chunksOf(stream, session, signal) });
    });
    stream.once('close', () => {
      signal.removeEventListener('abort', abort);
      reject(signal.aborted ? (signal.reason as Error) : session.lossOf(stream));
    });
  });
}

async function* chunksOf(
  stream: ClientHttp2Stream,
  session: Session,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void> {
  try {
    for await (const chunk of stream) yield chunk as Buffer;
  } catch {
    signal.throwIfAborted();
    throw session.lossOf(stream);
  }
  signal.throwIfAborted();
  // A stream that was cut off ends like a complete one; only the code tells.
  if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) throw session.lossOf(stream);
}

export async function textOf({ chunks }: Answer): Promise<string> {
  const parts: Buffer[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts).toString('utf8');
}
