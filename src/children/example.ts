/** A Memcached for tests of the builders. */
import { type DefaultedMemcached, type MemcachedSpec, memcachedKind, withDefaults } from '../api/index.ts';
import type { ObjectMeta } from '../kubernetes/object.ts';

export function example(spec: MemcachedSpec = {}, metadata: Partial<ObjectMeta> = {}): DefaultedMemcached {
  const { apiVersion, kind } = memcachedKind;
  return withDefaults({
    apiVersion,
    kind,
    metadata: { name: 'my-cache', namespace: 'default', uid: 'uid-1', generation: 1, ...metadata },
    spec,
  });
}
