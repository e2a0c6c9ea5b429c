/** What a Memcached is. */
import type { Kind, KubernetesObject } from '../kubernetes/object.ts';
import type { Static } from './schema/json-schema.ts';
import type { specSchema } from './schema/spec.ts';
import type { statusSchema } from './schema/status.ts';

export const GROUP = 'memcached.c5c3.io';
export const VERSION = 'v1alpha1';

export const memcachedKind: Kind = {
  apiVersion: `${GROUP}/${VERSION}`,
  kind: 'Memcached',
  plural: 'memcacheds',
  namespaced: true,
};

/** Annotations by which a user talks to the operator. */
export const annotation = {
  /** "true": children stay as they are. */
  paused: `${GROUP}/paused`,
  /** Any new value rolls the pods once. */
  restartTrigger: `${GROUP}/restart-trigger`,
} as const;

export type MemcachedSpec = Static<typeof specSchema>;
export type MemcachedStatus = Static<typeof statusSchema>;

export interface Memcached extends KubernetesObject {
  readonly spec: MemcachedSpec;
  readonly status?: MemcachedStatus;
}
