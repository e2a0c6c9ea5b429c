/** The permissions of the operator and of people, as manifests. */
import type { PolicyRule } from '../kubernetes/policy-rule.ts';
import { rulesOf, userRoles } from './permissions.ts';

export const NAMESPACE = 'memcached-operator-system';
export const SERVICE_ACCOUNT = 'memcached-operator-controller-manager';
const PREFIX = 'memcached-operator';
const RBAC = 'rbac.authorization.k8s.io';
export const LABELS = { 'app.kubernetes.io/name': 'memcached-operator' };
/** Its pods have to be as harmless as Kubernetes can ask for. */
const RESTRICTED = {
  'pod-security.kubernetes.io/enforce': 'restricted',
  'pod-security.kubernetes.io/warn': 'restricted',
};

/** For an operator that looks at all namespaces. */
export function rbac(): object[] {
  return [
    ...account(),
    ...granted('ClusterRole', 'manager', rulesOf('watched', 'cluster')),
    ...granted('Role', 'manager', rulesOf('own')),
    metricsReader(),
  ];
}

/** For one that looks at its own namespace alone. */
export function namespacedRbac(): object[] {
  return [
    ...account(),
    ...granted('ClusterRole', 'manager', rulesOf('cluster')),
    ...granted('Role', 'manager', rulesOf('own')),
    ...granted('Role', 'watch', rulesOf('watched')),
    metricsReader(),
  ];
}

export function userRbac(): object[] {
  return userRoles.map(({ name, labels, rules }) => ({
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRole',
    metadata: { name: `${PREFIX}-${name}`, labels: { ...LABELS, ...labels } },
    rules,
  }));
}

function account(): object[] {
  const metadata = { name: SERVICE_ACCOUNT, namespace: NAMESPACE, labels: LABELS };
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE, labels: { ...LABELS, ...RESTRICTED } } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
  ];
}

/** For whoever is to read the metrics; to be bound by those who decide about that. */
export function metricsReader(): object {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRole',
    metadata: { name: `${PREFIX}-metrics-reader`, labels: LABELS },
    rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
  };
}

/** A role, and that the operator has it. */
function granted(kind: 'Role' | 'ClusterRole', name: string, rules: readonly PolicyRule[]): object[] {
  const place = kind === 'Role' ? { namespace: NAMESPACE } : {};
  const role = `${PREFIX}-${name}-role`;
  return [
    { apiVersion: `${RBAC}/v1`, kind, metadata: { name: role, ...place, labels: LABELS }, rules },
    {
      apiVersion: `${RBAC}/v1`,
      kind: `${kind}Binding`,
      metadata: { name: `${PREFIX}-${name}-rolebinding`, ...place, labels: LABELS },
      roleRef: { apiGroup: RBAC, kind, name: role },
      subjects: [{ kind: 'ServiceAccount', name: SERVICE_ACCOUNT, namespace: NAMESPACE }],
    },
  ];
}
