/** The headless Service: it gives clients the addresses of the servers themselves. */
import type { DefaultedMemcached } from '../api/index.ts';
import type { Kind } from '../kubernetes/object.ts';
import type { Service } from '../kubernetes/service.ts';
import { childMetadata, selectorLabels } from './identity.ts';

export const serviceKind: Kind = { apiVersion: 'v1', kind: 'Service', plural: 'services', namespaced: true };

export function serviceFor(memcached: DefaultedMemcached): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: childMetadata(memcached, memcached.spec.service?.annotations),
    spec: {
      clusterIP: 'None',
      ports: [{ name: 'memcached', port: 11211, targetPort: 'memcached', protocol: 'TCP' }],
      selector: selectorLabels(memcached),
    },
  };
}
