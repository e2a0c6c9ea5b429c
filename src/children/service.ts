/** The headless Service: it gives clients the addresses of the servers themselves. */
import type { DefaultedMemcached } from '../api/index.ts';
import type { Kind } from '../kubernetes/object.ts';
import type { Service } from '../kubernetes/service.ts';
import { childMetadata, selectorLabels } from './identity.ts';
import { METRICS_PORT, SERVER_PORT } from './ports.ts';

export const serviceKind: Kind = { apiVersion: 'v1', kind: 'Service', plural: 'services', namespaced: true };

export function serviceFor(memcached: DefaultedMemcached): Service {
  const { service, monitoring } = memcached.spec;
  const ports = monitoring.enabled ? [SERVER_PORT, METRICS_PORT] : [SERVER_PORT];
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: childMetadata(memcached, { annotations: service?.annotations }),
    spec: {
      clusterIP: 'None',
      ports: ports.map(({ name, port }) => ({ name, port, targetPort: name, protocol: 'TCP' })),
      selector: selectorLabels(memcached),
    },
  };
}
