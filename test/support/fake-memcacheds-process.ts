/** The program behind FakeMemcacheds: which of the many it is asked as, it knows by the address. */
import { createServer, type Socket } from 'node:net';

const PORT = 11211;

/** Nothing but this is good: everything else is a way to be broken or hostile. */
const GOOD = 'good';

export const MANNERS = {
  mute: () => {},
  'a byte per second': (socket: Socket) => drip(socket, stats(1)),
  'endless figures': (socket: Socket) => flood(socket, 'STAT bytes 1\r\n'.repeat(4000), Number.POSITIVE_INFINITY),
  'a line of 100 MB': (socket: Socket) => flood(socket, 'x'.repeat(64 * 1024), 100e6),
  'a negative number': (socket: Socket) => socket.write(stats('-1')),
  'not a number': (socket: Socket) => socket.write(stats('NaN')),
  'a number that is too large': (socket: Socket) => socket.write(stats('9'.repeat(40))),
  'no figures': (socket: Socket) => socket.write('END\r\n'),
  'hangs up midway': (socket: Socket) => socket.end(stats(1).slice(0, 1000)),
  'TLS garbage': (socket: Socket) => socket.write(Buffer.from([0x15, 3, 1, 0, 2, 2, 40])),
} as const;

export type Manner = keyof typeof MANNERS | typeof GOOD;

export interface Orders {
  readonly manners?: readonly (readonly [host: string, manner: Manner])[];
  readonly connections?: readonly (readonly [host: string, count: number])[];
}

/** By host. */
export interface Tally {
  /** How often each was asked. */
  readonly asked: Readonly<Record<string, number>>;
  /** What each has got rid of so far. */
  readonly bytes: Readonly<Record<string, number>>;
}

/** What a real one tells besides: names and lengths as in 1.6.45. */
const OTHERS = [
  'pid 1',
  'uptime 86400',
  'time 1790000000',
  'version 1.6.45',
  'libevent 2.1.12-stable',
  'pointer_size 64',
  'rusage_user 10.123456',
  'rusage_system 20.123456',
  'max_connections 1024',
  'get_hits 75',
  'get_misses 25',
  'curr_items 1000',
  'bytes 123456',
  'limit_maxbytes 67108864',
  'evictions 0',
  ...Array.from({ length: 65 }, (_, index) => `a_figure_of_no_interest_${index} 123456`),
];

function stats(connections: number | string): string {
  const lines = [...OTHERS, `curr_connections ${connections}`].map((figure) => `STAT ${figure}\r\n`);
  return `${lines.join('')}END\r\n`;
}

function drip(socket: Socket, text: string): void {
  let sent = 0;
  const timer = setInterval(() => socket.write(text[sent++] ?? ''), 1000);
  socket.once('close', () => clearInterval(timer));
}

/** As fast as it is taken. */
function flood(socket: Socket, piece: string, most: number): void {
  const pour = () => {
    while (!socket.destroyed && socket.bytesWritten < most && socket.write(piece));
  };
  socket.on('drain', pour);
  pour();
}

function serve(): void {
  const manners = new Map<string, Manner>();
  const connections = new Map<string, number>();
  const asked: Record<string, number> = {};
  const bytes: Record<string, number> = {};
  const server = createServer((socket) => {
    const host = socket.localAddress ?? '';
    socket.on('error', () => {});
    socket.once('close', () => (bytes[host] = (bytes[host] ?? 0) + socket.bytesWritten));
    socket.on('data', () => {
      asked[host] = (asked[host] ?? 0) + 1;
      const manner = manners.get(host) ?? GOOD;
      if (manner === GOOD) socket.write(stats(connections.get(host) ?? 1));
      else MANNERS[manner](socket);
    });
  });
  process.on('message', (orders: Orders) => {
    for (const [host, manner] of orders.manners ?? []) manners.set(host, manner);
    for (const [host, count] of orders.connections ?? []) connections.set(host, count);
    process.send?.({ asked, bytes } satisfies Tally);
  });
  process.once('disconnect', () => process.exit()); // whoever started it is gone
  server.listen(PORT, '0.0.0.0', 1024, () => process.send?.('listening'));
}

if (import.meta.main) serve();
