/** The command line of memcached. */
import type { DefaultedSpec } from '../api/index.ts';

const VERBOSITY = [[], ['-v'], ['-vv']] as const;

export function memcachedArguments({ memcached }: DefaultedSpec): string[] {
  return [
    '-m',
    String(memcached.maxMemoryMB),
    '-c',
    String(memcached.maxConnections),
    '-t',
    String(memcached.threads),
    '-I',
    memcached.maxItemSize,
    ...(VERBOSITY[memcached.verbosity] ?? []),
    ...memcached.extraArgs,
  ];
}
