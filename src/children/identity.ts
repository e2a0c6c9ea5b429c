/** What marks an object as a child of a Memcached: its name, its labels and its owner. */
import { type Memcached, memcachedKind } from '../api/index.ts';
import type { ObjectMeta } from '../kubernetes/object.ts';

export const MANAGED_BY = 'memcached-operator';

/** Selects every object that the operator manages. */
export const MANAGED_SELECTOR = `app.kubernetes.io/managed-by=${MANAGED_BY}`;

/** The labels by which children select their pods. They never change in the life of a Memcached. */
export function selectorLabels({ metadata }: Memcached): Record<string, string> {
  return {
    'app.kubernetes.io/name': 'memcached',
    'app.kubernetes.io/instance': metadata.name,
    'app.kubernetes.io/managed-by': MANAGED_BY,
  };
}

/** Selects the pods of one Memcached, as a string. */
export function podSelector(memcached: Memcached): string {
  return Object.entries(selectorLabels(memcached))
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
}

export function childMetadata(memcached: Memcached, annotations?: Readonly<Record<string, string>>): ObjectMeta {
  const { name, namespace, uid } = memcached.metadata;
  if (namespace === undefined || uid === undefined) throw new Error(`Memcached ${name} is not from a cluster`);
  const { apiVersion, kind } = memcachedKind;
  return {
    name,
    namespace,
    labels: selectorLabels(memcached),
    ...(annotations && Object.keys(annotations).length > 0 && { annotations }),
    ownerReferences: [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }],
  };
}
