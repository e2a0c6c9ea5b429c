/** The command line of memcached. */
import type { DefaultedSpec } from '../api/index.ts';
import { SERVER_PORT } from './ports.ts';
import { exporterListener, type Protection } from './protection.ts';

const VERBOSITY = [[], ['-v'], ['-vv']] as const;

/** The user's own arguments are the last, so that they cannot swallow one of ours. */
export function memcachedArguments(spec: DefaultedSpec, protections: readonly Protection[]): string[] {
  const { memcached } = spec;
  const listener = exporterListener(spec, protections);
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
    ...protections.flatMap((protection) => protection.arguments),
    ...(listener === undefined ? [] : ['-l', `*:${SERVER_PORT.port},${listener}`]),
    ...memcached.extraArgs,
  ];
}
