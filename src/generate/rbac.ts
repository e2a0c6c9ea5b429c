/** The permissions of the operator, as manifests. */
import { ownPermissions, permissions } from '../controller/permissions.ts';
import type { PolicyRule } from '../kubernetes/policy-rule.ts';
import { certificatePermissions, webhookPermissions } from '../webhooks/permissions.ts';

export const NAMESPACE = 'memcached-operator-system';
export const SERVICE_ACCOUNT = 'memcached-operator-controller-manager';
const ROLE = 'memcached-operator-manager-role';
const BINDING = 'memcached-operator-manager-rolebinding';
const RBAC = 'rbac.authorization.k8s.io';
export const LABELS = { 'app.kubernetes.io/name': 'memcached-operator' };
/** Its pods have to be as harmless as Kubernetes can ask for. */
const RESTRICTED = {
  'pod-security.kubernetes.io/enforce': 'restricted',
  'pod-security.kubernetes.io/warn': 'restricted',
};

export function rbac(): object[] {
  const account = { name: SERVICE_ACCOUNT, namespace: NAMESPACE };
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE, labels: { ...LABELS, ...RESTRICTED } } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { ...account, labels: LABELS } },
    ...granted('ClusterRole', {}, [...permissions(), ...webhookPermissions()]),
    ...granted('Role', { namespace: NAMESPACE }, [...ownPermissions(), ...certificatePermissions()]),
    metricsReader(),
  ];
}

/** For whoever is to read the metrics; to be bound by those who decide about that. */
function metricsReader(): object {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRole',
    metadata: { name: 'memcached-operator-metrics-reader', labels: LABELS },
    rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
  };
}

/** A role, and that the operator has it. */
function granted(kind: 'Role' | 'ClusterRole', place: object, rules: readonly PolicyRule[]): object[] {
  return [
    { apiVersion: `${RBAC}/v1`, kind, metadata: { name: ROLE, ...place, labels: LABELS }, rules },
    {
      apiVersion: `${RBAC}/v1`,
      kind: `${kind}Binding`,
      metadata: { name: BINDING, ...place, labels: LABELS },
      roleRef: { apiGroup: RBAC, kind, name: ROLE },
      subjects: [{ kind: 'ServiceAccount', name: SERVICE_ACCOUNT, namespace: NAMESPACE }],
    },
  ];
}
