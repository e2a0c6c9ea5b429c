/** What the defaulting webhook makes of a Memcached before it is stored. */
import { type DefaultOptions, withStoredDefaults } from './defaults.ts';
import type { Memcached } from './memcached.ts';

/** `old` is the object before an update. Switching autoscaling on or off must not change the number of servers. */
export function admitted(memcached: Memcached, old: Memcached | undefined, options: DefaultOptions = {}): Memcached {
  const scales = memcached.spec.autoscaling?.enabled === true;
  if (scales && old?.spec.replicas !== undefined && memcached.spec.replicas === old.spec.replicas) {
    // Left over from when it did not scale, often put there by this webhook: not the user's word against autoscaling.
    const { replicas: _leftOver, ...spec } = memcached.spec;
    return withStoredDefaults({ ...memcached, spec }, options);
  }
  const present = old?.spec.autoscaling?.enabled ? old.status?.replicas : undefined; // 0 while nobody has counted
  return withStoredDefaults(memcached, present ? { ...options, replicas: present } : options);
}
