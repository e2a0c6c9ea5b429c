/** Who may do what: the operator, by where it may do it, and people. */
import { GROUP, memcachedKind } from '../api/memcached.ts';
import { clusterPermissions, namespacedPermissions, ownPermissions } from '../controller/permissions.ts';
import type { PolicyRule } from '../kubernetes/policy-rule.ts';
import { certificatePermissions, configurationPermissions, lookupPermissions } from '../webhooks/permissions.ts';

const { plural } = memcachedKind;
const AGGREGATE = 'rbac.authorization.k8s.io/aggregate-to';

/** A role for people, and Kubernetes' own roles whose holders get it, too. */
export interface UserRole {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly rules: readonly PolicyRule[];
}

/** What the operator may do in the namespaces of Memcacheds, for what is in no namespace, and where it runs itself. */
export const operatorRules = {
  watched: { always: namespacedPermissions(), webhooks: lookupPermissions() },
  cluster: { always: clusterPermissions(), webhooks: configurationPermissions() },
  own: { always: ownPermissions(), webhooks: certificatePermissions() },
} as const;

/** All of it, for these places. */
export function rulesOf(...places: readonly (keyof typeof operatorRules)[]): PolicyRule[] {
  return places.flatMap((place) => [...operatorRules[place].always, ...operatorRules[place].webhooks]);
}

/** Whoever may edit a namespace is let see it by Kubernetes itself, and whoever administers it, edit. */
export const userRoles: readonly UserRole[] = [
  {
    name: 'memcached-viewer-role',
    labels: { [`${AGGREGATE}-view`]: 'true' },
    rules: [memcacheds(['get', 'list', 'watch'], plural, `${plural}/status`, `${plural}/scale`)],
  },
  {
    name: 'memcached-editor-role',
    labels: { [`${AGGREGATE}-edit`]: 'true', [`${AGGREGATE}-admin`]: 'true' },
    rules: [
      memcacheds(['create', 'update', 'patch', 'delete', 'deletecollection'], plural),
      memcacheds(['update', 'patch'], `${plural}/scale`),
    ],
  },
];

function memcacheds(verbs: readonly string[], ...resources: readonly string[]): PolicyRule {
  return { apiGroups: [GROUP], resources, verbs };
}
