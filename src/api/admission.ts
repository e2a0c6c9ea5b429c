/** What becomes of a Memcached before it is stored. */
import { isDeepStrictEqual } from 'node:util';
import { type DefaultOptions, withStoredDefaults } from './defaults.ts';
import type { Memcached } from './memcached.ts';
import { specSchema } from './schema/spec.ts';
import { structureErrors } from './validation/structure.ts';

/** Where only metadata changes, nothing is refused and nothing filled in: an invalid object must still be labelled. */
export function changesSpec({ spec }: Memcached, old: Memcached | undefined): boolean {
  return !old || !isDeepStrictEqual(spec, old.spec);
}

/**
 * `old` is the object before an update. Switching autoscaling on or off must not change the number of servers.
 * A spec that the API server will refuse for its structure, right after, stays as it is.
 */
export function admitted(memcached: Memcached, old: Memcached | undefined, options: DefaultOptions = {}): Memcached {
  const isMeant = changesSpec(memcached, old) && structureErrors(specSchema, memcached.spec, 'spec').length === 0;
  if (!isMeant) return memcached;
  const scales = memcached.spec.autoscaling?.enabled === true;
  if (scales && old?.spec.replicas !== undefined && memcached.spec.replicas === old.spec.replicas) {
    // Left over from when it did not scale, often put there by this webhook: not the user's word against autoscaling.
    const { replicas: _leftOver, ...spec } = memcached.spec;
    return withStoredDefaults({ ...memcached, spec }, options);
  }
  const present = old?.spec.autoscaling?.enabled ? old.status?.replicas : undefined; // 0 while nobody has counted
  return withStoredDefaults(memcached, present ? { ...options, replicas: present } : options);
}
