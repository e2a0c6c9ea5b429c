/** How the API server reaches the webhooks of the operator in the cluster, as manifests. */
import { configurationFor, registrations, webhookService } from '../webhooks/configurations.ts';
import { LABELS, NAMESPACE } from './rbac.ts';

/** The bundle of trusted authorities is left to the operator, or to whoever else brings the certificate. */
export function webhooks(): object[] {
  const selector = { ...LABELS, 'app.kubernetes.io/component': 'controller-manager' };
  const service = webhookService(NAMESPACE);
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: service.name, namespace: service.namespace, labels: LABELS },
      spec: { selector, ports: [{ name: 'https', port: 443, targetPort: 'webhooks' }] },
    },
    ...registrations.map((registration) =>
      configurationFor(registration, 'memcached-operator', {
        service: { ...service, path: registration.path, port: 443 },
      }),
    ),
  ];
}
