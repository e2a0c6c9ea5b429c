/** The figures of one server that we read, taken out of all those that it tells. */
import { MemcachedError } from './connection.ts';

export interface Figures {
  /** What runs, whatever the image is called. */
  readonly version: string;
  readonly connections: number;
  readonly hits: number;
  readonly misses: number;
  readonly items: number;
  readonly bytes: number;
  readonly limitBytes: number;
  readonly evictions: number;
  readonly uptimeSeconds: number;
}

export function figuresOf(stats: ReadonlyMap<string, string>): Figures {
  return {
    version: version(stats.get('version')),
    connections: count(stats, 'curr_connections'),
    hits: count(stats, 'get_hits'),
    misses: count(stats, 'get_misses'),
    items: count(stats, 'curr_items'),
    bytes: count(stats, 'bytes'),
    limitBytes: count(stats, 'limit_maxbytes'),
    evictions: count(stats, 'evictions'),
    uptimeSeconds: count(stats, 'uptime'),
  };
}

function count(stats: ReadonlyMap<string, string>, name: string): number {
  const text = stats.get(name) ?? '';
  const number = Number(text);
  if (!/^\d{1,20}$/.test(text)) throw new MemcachedError('nonsense', `${name} is not a count`);
  return number;
}

function version(text = ''): string {
  if (!/^[\w.+~-]{1,32}$/.test(text)) throw new MemcachedError('nonsense', 'version is not one');
  return Buffer.from(text, 'latin1').toString('latin1'); // a copy: a part of a text keeps the whole of it in memory
}
