/** CPU and memory of the containers. */
import type { Quantity, ResourceRequirements } from '../../kubernetes/core.ts';
import type { DefaultedSpec } from '../defaults.ts';
import { safeMebibytes } from '../memory.ts';
import { mebibytes, quantityInNano } from '../quantity.ts';
import { type Check, type FieldError, invalid, type Warning } from './field-error.ts';

/** For connections, threads and memcached's own structures. */
const OVERHEAD_MI = 32;

const MEMORY_LIMIT = 'spec.resources.limits.memory';

function resourcesOf({ resources, monitoring }: DefaultedSpec): Readonly<Record<string, ResourceRequirements>> {
  return { 'spec.resources': resources ?? {}, 'spec.monitoring.exporterResources': monitoring.exporterResources ?? {} };
}

/** Nothing for what is no quantity: the API server has checked that it is a string or a number, but others may ask, too. */
function nano(quantity: unknown): bigint | undefined {
  return typeof quantity === 'string' || typeof quantity === 'number' ? quantityInNano(String(quantity)) : undefined;
}

/** In Mi, rounded down. */
function memoryMi(quantity: unknown): number | undefined {
  return nano(quantity) === undefined ? undefined : mebibytes(quantity as Quantity);
}

/** The schema's pattern lets some through that Kubernetes cannot read. */
export const quantitiesAreReadable: Check = ({ spec }) =>
  Object.entries(resourcesOf(spec)).flatMap(([field, { requests, limits }]) =>
    Object.entries({ requests, limits }).flatMap(([kind, list]) =>
      Object.entries(list ?? {})
        .filter(([, quantity]) => (nano(quantity) ?? -1n) < 0n)
        .map(([name, quantity]) =>
          invalid(`${field}.${kind}.${name}`, quantity, 'must be a quantity such as 500m or 512Mi, and not negative'),
        ),
    ),
  );

export const requestsFitLimits: Check = ({ spec }) =>
  Object.entries(resourcesOf(spec)).flatMap(([field, { requests, limits }]) =>
    Object.entries(requests ?? {}).flatMap(([name, request]): FieldError[] => {
      const limit = new Map(Object.entries(limits ?? {})).get(name);
      const [asked, allowed] = [nano(request), nano(limit)];
      if (asked === undefined || allowed === undefined || asked <= allowed) return [];
      return [invalid(`${field}.requests.${name}`, String(request), `must not exceed the limit (${limit})`)];
    }),
  );

export const memoryLimitSuffices: Check = ({ spec }) => {
  const limit = spec.resources?.limits?.['memory'];
  const limitMi = memoryMi(limit);
  if (limitMi === undefined) return [];
  const { maxMemoryMB } = spec.memcached;
  const needed = maxMemoryMB + OVERHEAD_MI;
  if (limitMi >= needed) return [];
  const detail = `memory limit must be at least ${needed}Mi (maxMemoryMB=${maxMemoryMB}Mi + ${OVERHEAD_MI}Mi overhead)`;
  return [invalid(MEMORY_LIMIT, String(limit), detail)];
};

export const memoryIsUnlimited: Warning = ({ spec }) => {
  if (spec.resources?.limits?.['memory'] !== undefined) return undefined;
  return `${MEMORY_LIMIT}: without a limit a server may take memory that its node needs for others; set it to ${safeMemory(spec)}Mi or more`;
};

export const memoryIsTight: Warning = ({ spec }) => {
  const limit = memoryMi(spec.resources?.limits?.['memory']);
  const safe = safeMemory(spec);
  if (limit === undefined || limit >= safe) return undefined;
  return `${MEMORY_LIMIT}: with ${limit}Mi a server may be killed for lack of memory when the cache is full and all connections are busy; set it to ${safe}Mi or more`;
};

function safeMemory({ memcached, security }: DefaultedSpec): number {
  return safeMebibytes({ ...memcached, isEncrypted: security.tls.enabled });
}
