/** Reads the bodies of requests, none of which may be large, nor all together. */
import type { IncomingMessage } from 'node:http';

/** An answer other than the one that was asked for. */
export class HttpRefusal extends Error {
  override readonly name = 'HttpRefusal';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

export interface BodyLimits {
  /** Of one body, in bytes. */
  readonly each: number;
  /** Of all that are being read. */
  readonly together: number;
}

export function bodyReader({ each, together }: BodyLimits): (request: IncomingMessage) => Promise<string> {
  let held = 0;
  return async (request) => {
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      // Were the request destroyed together with the loop, its connection would be, too, and with it the refusal.
      for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        size += chunk.length;
        held += chunk.length;
        chunks.push(chunk);
        if (size > each) throw new HttpRefusal(413, `a body may have ${each} bytes`);
        if (held > together) throw new HttpRefusal(503, 'too much at once, try again', { 'retry-after': '1' });
      }
      return Buffer.concat(chunks).toString('utf8');
    } finally {
      held -= size;
    }
  };
}
