import { expect, test } from 'vitest';
import type { Figures } from '../../memcached/index.ts';
import type { Statistics } from '../../status/observation.ts';
import { summaryOf } from './summary.ts';

function server(hits: number, misses: number, connections = 2, version = '1.6.45'): Figures {
  const rest = { items: 0, bytes: 0, limitBytes: 0, evictions: 0, uptimeSeconds: 0 };
  return { version, connections, hits, misses, ...rest };
}

test.each<[string, Figures[], Statistics]>([
  ['nobody', [], { currentConnections: 0, hitRatio: '0.00' }],
  ['no gets', [server(0, 0)], { currentConnections: 2, hitRatio: '0.00', memcachedVersion: '1.6.45' }],
  [
    'a busy and an idle one',
    [server(299, 98, 10), server(1, 2, 5)],
    { currentConnections: 15, hitRatio: '0.75', memcachedVersion: '1.6.45' },
  ],
  [
    'a rollout',
    [server(1, 0, 1, '1.6.45'), server(0, 0, 1, '1.6.9'), server(0, 0, 1, '1.6.45')],
    { currentConnections: 3, hitRatio: '1.00', memcachedVersion: '1.6.9, 1.6.45' },
  ],
  [
    'counts beyond whole numbers',
    [server(1.8e19, 1.8e19)],
    { currentConnections: 2, hitRatio: '0.50', memcachedVersion: '1.6.45' },
  ],
])('%s', (_, servers, summary) => {
  expect(summaryOf(servers)).toEqual(summary);
});
