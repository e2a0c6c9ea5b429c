/** What the figures of all servers of one Memcached come to: pure. */
import type { Figures } from '../../memcached/index.ts';
import type { Statistics } from '../../status/observation.ts';

export function summaryOf(servers: readonly Figures[]): Statistics {
  const versions = [...new Set(servers.map(({ version }) => version))].toSorted(byNumbers);
  return {
    currentConnections: sum(servers, ({ connections }) => connections),
    hitRatio: hitRatioOf(servers).toFixed(2),
    ...(versions.length > 0 && { memcachedVersion: versions.join(', ') }),
  };
}

/** The share of all gets that found something: a busy server counts for more than an idle one. */
export function hitRatioOf(servers: readonly Figures[]): number {
  const hits = sum(servers, (server) => server.hits);
  const gets = hits + sum(servers, ({ misses }) => misses);
  return gets === 0 ? 0 : hits / gets;
}

function sum(servers: readonly Figures[], of: (figures: Figures) => number): number {
  return servers.reduce((total, figures) => total + of(figures), 0);
}

function byNumbers(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true });
}
