/** Settings with which memcached would not start, or not do well. Measured on 1.6.18 and 1.6.45. */
import type { DefaultedSpec } from '../defaults.ts';
import { type Check, invalid, type Warning } from './field-error.ts';
import { readCommandLine } from './option-reader.ts';
import { tuningOf } from './tuning.ts';

/** For memcached's own files and listeners, and one client. */
const OWN_DESCRIPTORS = 9;

/** memcached counts the descriptors of its threads and listeners as connections. */
export const connectionsCoverThreads: Check = ({ spec }) => {
  const { maxConnections, threads } = spec.memcached;
  const needed = connectionsNeeded(spec);
  if (maxConnections >= needed) return [];
  const detail = `maxConnections must be at least ${needed}: memcached needs that many for ${threads} threads and its listeners`;
  return [invalid('spec.memcached.maxConnections', maxConnections, detail)];
};

/** The least with which one client can connect. */
function connectionsNeeded({ memcached, monitoring, security: { tls, sasl } }: DefaultedSpec): number {
  const exporterListener = monitoring.enabled && (tls.enabled || sasl.enabled) ? 1 : 0;
  return 5 * memcached.threads + OWN_DESCRIPTORS + exporterListener + tuningOf(memcached.extraArgs).files.length;
}

const FEW = 16;

export const connectionsAreFew: Warning = ({ spec }) => {
  const { maxConnections } = spec.memcached;
  const left = maxConnections - connectionsNeeded(spec) + 1;
  if (left >= FEW) return undefined;
  return `spec.memcached.maxConnections: memcached needs most of the ${maxConnections} connections itself, which leaves ${left} for clients; set it to ${maxConnections - left + FEW} or more`;
};

export const threadsAreMany: Warning = ({ spec }) =>
  spec.memcached.threads > 64
    ? 'spec.memcached.threads: memcached advises against more than 64 threads; set it to the number of cores that a server may use'
    : undefined;

export const keysAreLogged: Warning = ({ spec }) => {
  const { verbosity, extraArgs } = spec.memcached;
  const more = readCommandLine(extraArgs).options.filter(({ option }) => option?.letter === 'v').length;
  return verbosity + more >= 2
    ? 'spec.memcached.verbosity: every command will be logged, with its key; set it to 1 or 0 when you have seen enough'
    : undefined;
};
