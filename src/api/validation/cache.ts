/** Settings with which memcached would not start, or not do well. Measured on 1.6.18 and 1.6.45. */
import { type Check, invalid, type Warning } from './field-error.ts';
import { readCommandLine } from './option-reader.ts';

/** The step of item sizes: memcached's largest chunk. */
const STEP_KB = 512;
const MAX_ITEM_KB = 1024 * 1024;

export const itemSizeFits: Check = ({ spec }) => {
  const { maxItemSize, maxMemoryMB } = spec.memcached;
  const kilobytes = Number.parseInt(maxItemSize, 10) * (maxItemSize.endsWith('m') ? 1024 : 1);
  const half = (maxMemoryMB * 1024) / 2;
  if (kilobytes % STEP_KB === 0 && kilobytes >= STEP_KB && kilobytes <= Math.min(MAX_ITEM_KB, half)) return [];
  const most = half < MAX_ITEM_KB ? `${size(half)} (half of maxMemoryMB)` : size(MAX_ITEM_KB);
  const detail = `maxItemSize must be a multiple of ${STEP_KB}k between ${STEP_KB}k and ${most}`;
  return [invalid('spec.memcached.maxItemSize', maxItemSize, detail)];
};

/** memcached counts the descriptors of its threads and listeners as connections. */
export const connectionsCoverThreads: Check = ({ spec }) => {
  const { maxConnections, threads } = spec.memcached;
  const { tls, sasl } = spec.security;
  const extraListener = spec.monitoring.enabled && (tls.enabled || sasl.enabled) ? 1 : 0;
  const needed = 5 * threads + 9 + extraListener;
  if (maxConnections >= needed) return [];
  const detail = `maxConnections must be at least ${needed}: memcached needs that many for ${threads} threads and its listeners`;
  return [invalid('spec.memcached.maxConnections', maxConnections, detail)];
};

export const connectionsAreFew: Warning = ({ spec }) => {
  const { maxConnections, threads } = spec.memcached;
  const left = maxConnections - (5 * threads + 8);
  if (left >= 16) return undefined;
  return `spec.memcached.maxConnections: memcached needs most of the ${maxConnections} connections itself, which leaves ${left} for clients`;
};

export const threadsAreMany: Warning = ({ spec }) =>
  spec.memcached.threads > 64 ? 'spec.memcached.threads: memcached advises against more than 64 threads' : undefined;

export const keysAreLogged: Warning = ({ spec }) => {
  const { verbosity, extraArgs } = spec.memcached;
  const more = readCommandLine(extraArgs).options.filter(({ option }) => option?.letter === 'v').length;
  return verbosity + more >= 2 ? 'spec.memcached.verbosity: every command will be logged, with its key' : undefined;
};

function size(kilobytes: number): string {
  return kilobytes % 1024 === 0 ? `${kilobytes / 1024}m` : `${kilobytes}k`;
}
