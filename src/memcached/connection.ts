/** A connection to one memcached that trusts it with nothing: neither with time nor with memory. */
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';

export interface Address {
  readonly host: string;
  readonly port: number;
  /** What it shows and whom it trusts, where the server speaks TLS. */
  readonly tls?: SecureContext;
}

export interface Limits {
  /** For TCP and TLS together. */
  readonly connectMs: number;
  /** For one whole answer, however many pieces it comes in. */
  readonly answerMs: number;
  /** Of one answer. */
  readonly bytes: number;
}

export const LIMITS: Limits = { connectMs: 2000, answerMs: 3000, bytes: 64 * 1024 };

/**
 * Why a server did not tell what it was asked. The message never repeats what the server said, which may be anything,
 * a password included.
 */
export class MemcachedError extends Error {
  override readonly name = 'MemcachedError';
  readonly reason: 'unreachable' | 'timeout' | 'closed' | 'too-much' | 'nonsense' | 'refused';

  constructor(reason: MemcachedError['reason'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** Made once: most connections end like this, and an error costs as much as ten lines of an answer. */
const CLOSED = new MemcachedError('closed', 'the connection was closed');

export class Connection {
  readonly #socket: Socket;
  readonly #limits: Limits;
  #received = Buffer.alloc(0);
  #used = 0;
  /** Bytes that may still come before the answer is too long. */
  #allowance = 0;
  #failure: MemcachedError | undefined;
  #wake = () => {};

  private constructor(socket: Socket, limits: Limits) {
    this.#socket = socket;
    this.#limits = limits;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (cause) => this.#fail(new MemcachedError('closed', 'the connection broke', { cause })));
    socket.on('close', () => {
      if (this.isOpen) this.#fail(new MemcachedError('closed', 'the server hung up'));
    });
  }

  static open({ host, port, tls }: Address, limits: Limits = LIMITS): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = tls
        ? // Pods are dialled by address, and certificates speak of names: whose it is follows from who signed it.
          connectTls({ host, port, secureContext: tls, checkServerIdentity: () => undefined })
        : connect({ host, port });
      const refuse = (error: MemcachedError) => {
        clearTimeout(timer);
        socket.destroy();
        reject(error);
      };
      const timer = setTimeout(
        () => refuse(new MemcachedError('timeout', `no connection within ${limits.connectMs} ms`)),
        limits.connectMs,
      );
      const onError = (cause: Error) => refuse(new MemcachedError('unreachable', 'no connection', { cause }));
      const onClose = () => refuse(new MemcachedError('unreachable', 'the server hung up'));
      socket.once('error', onError).once('close', onClose);
      socket.once(tls ? 'secureConnect' : 'connect', () => {
        clearTimeout(timer);
        const connection = new Connection(socket, limits);
        socket.off('error', onError).off('close', onClose);
        resolve(connection);
      });
    });
  }

  get isOpen(): boolean {
    return this.#failure === undefined;
  }

  /** Asks once, and reads the answer. Whatever goes wrong ends the connection: what would come next could be of the old answer. */
  async ask<T>(question: Buffer | string, read: () => Promise<T>): Promise<T> {
    this.#throwIfFailed();
    this.#allowance = this.#limits.bytes;
    const timer = setTimeout(
      () => this.#fail(new MemcachedError('timeout', `no whole answer within ${this.#limits.answerMs} ms`)),
      this.#limits.answerMs,
    );
    try {
      this.#socket.write(question);
      const answer = await read();
      if (this.#used < this.#received.length) throw new MemcachedError('nonsense', 'more came than was asked for');
      this.#received = Buffer.alloc(0);
      this.#used = 0;
      this.#allowance = 0;
      return answer;
    } catch (error) {
      this.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** The next line of the answer, without its end. */
  async line(): Promise<string> {
    const [line = ''] = await this.lines(() => true);
    return line;
  }

  /** The next lines of the answer, without their ends, up to the first that is the last one. */
  async lines(isLast: (line: string) => boolean): Promise<string[]> {
    const lines: string[] = [];
    let searched = this.#used;
    for (;;) {
      const from = Math.max(this.#used, searched - 1); // an end may come in two pieces
      const end = this.#received.subarray(from).lastIndexOf('\r\n', undefined, 'latin1');
      searched = this.#received.length;
      // All that have come are made a text at once: one by one they cost three times as much.
      const whole = end < 0 ? [] : this.#received.toString('latin1', this.#used, from + end).split('\r\n');
      for (const line of whole) {
        this.#used += line.length + 2;
        lines.push(line);
        if (isLast(line)) return lines;
      }
      await this.#more();
    }
  }

  /** The next bytes of the answer. */
  async bytes(count: number): Promise<Buffer> {
    if (count > this.#limits.bytes) throw this.#tooMuch();
    while (this.#received.length - this.#used < count) await this.#more();
    const bytes = this.#received.subarray(this.#used, this.#used + count);
    this.#used += count;
    return bytes;
  }

  close(): void {
    this.#fail(CLOSED);
  }

  #take(chunk: Buffer): void {
    this.#allowance -= chunk.length;
    if (this.#allowance < 0) return this.#fail(this.#tooMuch());
    this.#received = Buffer.concat([this.#received, chunk]);
    this.#wake();
  }

  async #more(): Promise<void> {
    this.#throwIfFailed();
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#throwIfFailed();
  }

  #tooMuch(): MemcachedError {
    return new MemcachedError('too-much', `an answer of more than ${this.#limits.bytes} bytes`);
  }

  #fail(failure: MemcachedError): void {
    this.#failure ??= failure;
    this.#received = Buffer.alloc(0);
    this.#used = 0;
    this.#socket.destroy();
    this.#wake();
  }

  #throwIfFailed(): void {
    if (this.#failure) throw this.#failure;
  }
}
