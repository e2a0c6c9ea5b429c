/** memcached must not be killed for using the memory that it was given. */
import { mebibytes } from '../quantity.ts';
import { type Check, invalid, type Warning } from './field-error.ts';

/** For connections, threads and memcached's own structures. */
const OVERHEAD_MI = 32;

export const memoryLimitSuffices: Check = ({ spec }) => {
  const field = 'spec.resources.limits.memory';
  const limit = spec.resources?.limits?.['memory'];
  if (limit === undefined) return [];
  const { maxMemoryMB } = spec.memcached;
  const limitMi = mebibytes(limit);
  if (limitMi === undefined) return [invalid(field, limit, 'must be a quantity such as 512Mi')];
  const needed = maxMemoryMB + OVERHEAD_MI;
  if (limitMi >= needed) return [];
  const detail = `memory limit must be at least ${needed}Mi (maxMemoryMB=${maxMemoryMB}Mi + ${OVERHEAD_MI}Mi overhead)`;
  return [invalid(field, String(limit), detail)];
};

/** Under load, memcached was measured to need more than the overhead that is demanded. */
export const memoryIsTight: Warning = ({ spec }) => {
  const limit = mebibytes(spec.resources?.limits?.['memory'] ?? '');
  const { maxMemoryMB, maxConnections } = spec.memcached;
  const connectionKi = spec.security.tls.enabled ? 32 : 8;
  const safe = Math.ceil(1.1 * maxMemoryMB + 48 + (maxConnections * connectionKi) / 1024);
  if (limit === undefined || limit >= safe) return undefined;
  return `spec.resources.limits.memory: with ${limit}Mi a server may be killed for lack of memory when the cache is full and all connections are busy; ${safe}Mi is safe`;
};
