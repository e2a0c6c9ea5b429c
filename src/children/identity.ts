/** What marks an object as a child of a Memcached: its name, its labels and its owner. */
import { type DefaultedMemcached, GROUP, type Memcached, memcachedKind } from '../api/index.ts';
import type { ObjectMeta } from '../kubernetes/object.ts';
import { imageVersion } from './image-version.ts';

type StringMap = Readonly<Record<string, string>>;

export const MANAGED_BY = 'memcached-operator';

/** Selects every object that the operator manages. */
export const MANAGED_SELECTOR = `app.kubernetes.io/managed-by=${MANAGED_BY}`;

const VERSION_LABEL = 'app.kubernetes.io/version';

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

/** The labels of children and pods: those of the user, as far as they are not ours to set, and ours. */
export function childLabels(memcached: DefaultedMemcached, users: StringMap = {}): Record<string, string> {
  const version = imageVersion(memcached.spec.image);
  const { [VERSION_LABEL]: _, ...others } = users; // ours, even while the image does not tell it
  return { ...others, ...selectorLabels(memcached), ...(version !== undefined && { [VERSION_LABEL]: version }) };
}

/** The annotations of the user, without those that are ours to set. */
export function usersAnnotations(annotations: StringMap = {}): StringMap {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !key.startsWith(`${GROUP}/`)));
}

export function childMetadata(
  memcached: DefaultedMemcached,
  users: { readonly labels?: StringMap | undefined; readonly annotations?: StringMap | undefined } = {},
): ObjectMeta {
  const { name, namespace, uid } = memcached.metadata;
  if (namespace === undefined || uid === undefined) throw new Error(`Memcached ${name} is not from a cluster`);
  const { apiVersion, kind } = memcachedKind;
  return {
    name,
    namespace,
    labels: childLabels(memcached, users.labels),
    annotations: users.annotations ?? {},
    ownerReferences: [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }],
  };
}
