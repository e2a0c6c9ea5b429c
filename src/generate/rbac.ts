/** The permissions of the operator, as manifests. */
import { permissions } from '../controller/permissions.ts';

export const NAMESPACE = 'memcached-operator-system';
export const SERVICE_ACCOUNT = 'memcached-operator-controller-manager';
const ROLE = 'memcached-operator-manager-role';
const RBAC = 'rbac.authorization.k8s.io';

export function rbac(): object[] {
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: SERVICE_ACCOUNT, namespace: NAMESPACE } },
    { apiVersion: `${RBAC}/v1`, kind: 'ClusterRole', metadata: { name: ROLE }, rules: permissions() },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'memcached-operator-manager-rolebinding' },
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: ROLE },
      subjects: [{ kind: 'ServiceAccount', name: SERVICE_ACCOUNT, namespace: NAMESPACE }],
    },
  ];
}
