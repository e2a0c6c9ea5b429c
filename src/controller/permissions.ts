/** What the operator must be allowed to do, derived from what it does. */
import { memcachedKind } from '../api/index.ts';
import { children } from '../children/index.ts';
import type { Kind } from '../kubernetes/object.ts';
import type { PolicyRule } from '../kubernetes/policy-rule.ts';
import { crdKind, crdNameOf } from '../runtime/cache/index.ts';
import { leaseKind } from '../runtime/leader/lease-record.ts';
import { accessReviewKind, tokenReviewKind } from '../runtime/metrics/caller-reviews.ts';
import { eventKind } from './events.ts';
import { secretKind } from './secrets/secrets.ts';
import { podKind } from './world.ts';

/** The Lease of the one that leads. */
export const LEASE = 'd4f3c8a2.c5c3.io';

/** Everything that a watch needs; list is for servers that cannot stream what exists. */
const WATCHED = ['list', 'watch'];
/**
 * A server-side apply counts as both create and patch; get tells whose an object is that is in the way;
 * where OwnerReferencesPermissionEnforcement is on, only those who may delete an object may restore its owner references.
 */
const APPLIED = [...WATCHED, 'get', 'create', 'patch', 'delete'];

const customKinds = [memcachedKind, ...children.filter(({ needsCrd }) => needsCrd).map(({ kind }) => kind)];

/** In the namespaces of Memcacheds. */
export function namespacedPermissions(): PolicyRule[] {
  return [
    // To see who has a name now, and to set replicas, when autoscaling was switched on or off without webhooks.
    rule(memcachedKind, [...WATCHED, 'get', 'patch']),
    rule(memcachedKind, ['patch'], 'status'),
    rule(memcachedKind, ['update'], 'finalizers'), // to be named as the owner that blocks a deletion
    ...children.map(({ kind }) => rule(kind, APPLIED)),
    rule(podKind, [...WATCHED, 'patch']), // to say which go first when there shall be fewer
    rule(secretKind, [...WATCHED, 'get']), // all are watched by their metadata; those that a Memcached names are read
    rule(eventKind, ['create']),
  ];
}

/** For what is in no namespace. */
export function clusterPermissions(): PolicyRule[] {
  return [
    rule(tokenReviewKind, ['create']), // who wants to read metrics,
    rule(accessReviewKind, ['create']), // and whether he may
    // To learn at once that it is installed, and whether it is leaving.
    { ...rule(crdKind, WATCHED), resourceNames: customKinds.map(crdNameOf) },
  ];
}

/** What it must be allowed to do in the namespace that it runs in, besides. */
export function ownPermissions(): PolicyRule[] {
  return [
    { ...rule(leaseKind, ['get', 'patch']), resourceNames: [LEASE] },
    rule(leaseKind, ['create']), // whose name is not known yet when permission is asked for
  ];
}

function rule({ apiVersion, plural }: Kind, verbs: readonly string[], subresource?: string): PolicyRule {
  const [group = '', version] = apiVersion.split('/');
  const resource = subresource === undefined ? plural : `${plural}/${subresource}`;
  return { apiGroups: [version === undefined ? '' : group], resources: [resource], verbs };
}
