/** The names by which clients reach the servers of a Memcached, one by one. */
import type { Memcached } from './memcached.ts';

const PORT = 11211;

/** The name of one server within its Service. */
export function serverHostname({ metadata: { name } }: Memcached, slot: number): string {
  return `${name}-${slot}`;
}

/** What clients connect to: as many as there are servers, whatever state these are in. */
export function serverList(memcached: Memcached, count: number): string[] {
  const { name, namespace } = memcached.metadata;
  return Array.from(
    { length: count },
    (_, slot) => `${serverHostname(memcached, slot)}.${name}.${namespace}.svc:${PORT}`,
  );
}
