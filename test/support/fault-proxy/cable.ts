/** A cable between client and server: what goes in at this port comes out at the other, unless something is wrong with it. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** One connection through the cable. */
interface Line {
  readonly near: Socket;
  readonly far: Socket;
  /** Nothing passes any more, and nobody is told; not even when the cable is well again. */
  isFrozen: boolean;
  /** How many bytes the client may still get before the line ends. */
  left: number;
}

export class Cable {
  /** How late a piece of data comes out, asked for each piece. */
  delayMs: () => number = () => 0;
  /** How often it has done harm: to connections that it has broken, and to pieces of data that came late. */
  harm = 0;
  readonly #server: Server;
  readonly #lines = new Set<Line>();
  #isFrozen = false;

  private constructor(to: number) {
    this.#server = createServer((near) => {
      const line = { near, far: connect(to, '127.0.0.1'), isFrozen: this.#isFrozen, left: Number.POSITIVE_INFINITY };
      this.#lines.add(line);
      this.#carry(line, near, line.far);
      this.#carry(line, line.far, near);
    });
  }

  static async to(port: number): Promise<Cable> {
    const cable = new Cable(port);
    cable.#server.listen(0, '127.0.0.1');
    await once(cable.#server, 'listening');
    return cable;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** From now on nothing passes, and nobody is told. */
  freeze(): void {
    this.#isFrozen = true;
    this.freezeOpen();
  }

  /** Connections that are open now fall silent; new ones are well. */
  freezeOpen(): void {
    for (const line of this.#each()) line.isFrozen = true;
  }

  /** New connections are well again. Frozen ones stay silent, as after a firewall has lost its memory; the server forgets them. */
  thaw(): void {
    this.#isFrozen = false;
    for (const line of this.#lines) if (line.isFrozen) line.far.destroy();
  }

  /** Ends all connections in order. */
  cut(): void {
    for (const { near, far } of this.#each()) {
      near.destroy();
      far.destroy();
    }
  }

  /** Ends all connections with a TCP reset. */
  reset(): void {
    for (const { near, far } of this.#each()) {
      near.resetAndDestroy();
      far.resetAndDestroy();
    }
  }

  /** Every open connection brings its client so many more bytes, then it ends: in the middle of whatever that is. */
  truncate(bytes: number): void {
    for (const line of this.#each()) line.left = bytes;
  }

  close(): void {
    this.#server.close();
    this.cut();
  }

  #each(): ReadonlySet<Line> {
    this.harm += this.#lines.size;
    return this.#lines;
  }

  #carry(line: Line, from: Socket, to: Socket): void {
    let last = Promise.resolve(); // whatever the delays, the order stays
    from.on('error', () => undefined);
    from.on('data', (data) => {
      const due = performance.now() + this.delayMs();
      last = last.then(async () => {
        const early = due - performance.now();
        if (early > 0) {
          this.harm += 1;
          await sleep(early);
        }
        if (!line.isFrozen) pass(line, to, data);
      });
    });
    from.once('close', () => {
      if (to.destroyed) this.#lines.delete(line);
      else if (!line.isFrozen) to.destroy();
    });
  }
}

function pass(line: Line, to: Socket, data: Buffer): void {
  const piece = to === line.near ? data.subarray(0, line.left) : data;
  if (to === line.near) line.left -= piece.length;
  to.write(piece);
  if (line.left === 0) for (const socket of [line.near, line.far]) socket.end(() => socket.destroy());
}
