/** An HTTP/1.1 client that sends many requests at once over one connection, and takes nothing for an answer but what HTTP allows. */
import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';

export interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export class Pipeline {
  readonly #socket: TLSSocket;
  #received: Buffer = Buffer.alloc(0);
  #isEnded = false;
  #onChange = () => {};

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
      this.#onChange();
    });
    const end = () => {
      this.#isEnded = true;
      this.#onChange();
    };
    socket.once('end', end).once('close', end).on('error', end);
  }

  static async open(port: number, authority: string): Promise<Pipeline> {
    const socket = connect({ host: '127.0.0.1', port, ca: authority });
    await once(socket, 'secureConnect');
    return new Pipeline(socket);
  }

  /** Whatever it is, and without waiting for anything. */
  send(text: string | Buffer): void {
    this.#socket.write(text);
  }

  /** Says nothing more, but goes on listening. */
  finish(): void {
    this.#socket.end();
  }

  close(): void {
    this.#socket.destroy();
  }

  /** The next answer. Fails when the connection ends without a whole one. */
  async answer(): Promise<RawAnswer> {
    for (;;) {
      const found = this.#take();
      if (found) return found;
      if (this.#isEnded)
        throw new Error(`no whole answer, only ${JSON.stringify(String(this.#received).slice(0, 200))}`);
      await new Promise<void>((resolve) => (this.#onChange = resolve));
    }
  }

  #take(): RawAnswer | undefined {
    const end = this.#received.indexOf('\r\n\r\n');
    if (end < 0) return undefined;
    const [start = '', ...lines] = this.#received.toString('latin1', 0, end).split('\r\n');
    const [, status] = /^HTTP\/1\.1 ([1-5]\d\d) [ -~]+$/.exec(start) ?? [];
    const fields = lines.map((line) => /^([\w-]+): ([ -~]*)$/.exec(line));
    if (status === undefined || fields.includes(null)) throw new Error(`that is not HTTP: ${start} ${lines.join(' ')}`);
    const headers = new Map(fields.map((field) => [field?.[1]?.toLowerCase() ?? '', field?.[2] ?? '']));
    const length = Number(headers.get('content-length') ?? 0);
    const begin = end + 4;
    if (this.#received.length < begin + length) return undefined;
    const body = this.#received.toString('utf8', begin, begin + length);
    this.#received = this.#received.subarray(begin + length);
    return { status: Number(status), headers, body };
  }
}
