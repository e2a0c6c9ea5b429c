/**
 * A connection on which nothing is sent unless it may be. HTTP/2 collects what it has to send until the event loop comes round,
 * and a process that was stopped meanwhile would send it when it goes on: so the question is asked here, with the system call behind it.
 */
import { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { SendRefused } from './errors.ts';

type Done = (error?: Error | null) => void;

export class GuardedSocket extends Duplex {
  readonly #socket: TLSSocket;
  readonly #maySend: () => boolean;

  constructor(socket: TLSSocket, maySend: () => boolean) {
    super();
    this.#socket = socket;
    this.#maySend = maySend;
    socket.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) socket.pause();
    });
    socket.once('end', () => this.push(null));
    socket.once('error', (error: Error) => this.destroy(error));
    socket.once('close', () => this.destroy());
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  get bytesWritten(): number {
    return this.#socket.bytesWritten;
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: Done): void {
    this.#send(chunk, done);
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: Done): void {
    this.#send(Buffer.concat(chunks.map(({ chunk }) => chunk)), done);
  }

  /** One after another: what has to wait for its turn waits here, where it can still be held back. */
  #send(bytes: Buffer, done: Done): void {
    if (this.#maySend()) this.#socket.write(bytes, done);
    else done(new SendRefused('what was under way'));
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}
