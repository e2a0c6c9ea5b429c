/** What the operator must be allowed to do for its webhooks, derived from what it does. */
import { GROUP, memcachedKind } from '../api/memcached.ts';
import type { PolicyRule } from '../kubernetes/policy-rule.ts';
import { CERTIFICATE_SECRET } from './certificates/store.ts';
import { configurationName, registrations } from './configurations.ts';

const WATCHED = ['list', 'watch'];

export function webhookPermissions(): PolicyRule[] {
  return [...lookupPermissions(), ...configurationPermissions()];
}

/** In the namespaces of Memcacheds: to look up what is to be scaled. */
export function lookupPermissions(): PolicyRule[] {
  return [{ apiGroups: [GROUP], resources: [memcachedKind.plural], verbs: ['get'] }];
}

/** In the whole cluster: to make the API server trust the certificate. */
export function configurationPermissions(): PolicyRule[] {
  return registrations.map((registration) => ({
    apiGroups: [registration.kind.apiVersion.split('/')[0] ?? ''],
    resources: [registration.kind.plural],
    resourceNames: [configurationName('memcached-operator', registration)],
    verbs: [...WATCHED, 'patch'],
  }));
}

/** In the operator's own namespace: to share the certificate between replicas. */
export function certificatePermissions(): PolicyRule[] {
  const secrets = { apiGroups: [''], resources: ['secrets'] };
  return [
    { ...secrets, verbs: ['create'] }, // what does not exist yet has no name to be allowed by
    { ...secrets, resourceNames: [CERTIFICATE_SECRET], verbs: [...WATCHED, 'patch', 'delete'] },
  ];
}
