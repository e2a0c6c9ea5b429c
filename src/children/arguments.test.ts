import { expect, test } from 'vitest';
import { memcachedArguments } from './arguments.ts';
import { example } from './example.ts';

test.each([
  [{}, '-m 64 -c 1024 -t 4 -I 1m'],
  [{ maxMemoryMB: 2048, maxConnections: 4096, threads: 8, maxItemSize: '2m' }, '-m 2048 -c 4096 -t 8 -I 2m'],
  [{ verbosity: 1 }, '-m 64 -c 1024 -t 4 -I 1m -v'],
  [{ verbosity: 2 }, '-m 64 -c 1024 -t 4 -I 1m -vv'],
  [{ extraArgs: ['-o', 'modern'] }, '-m 64 -c 1024 -t 4 -I 1m -o modern'],
])('%j', (memcached, line) => {
  expect(memcachedArguments(example({ memcached }).spec).join(' ')).toBe(line);
});
