/** The ServiceMonitor: it tells a Prometheus operator to scrape the servers. */
import type { DefaultedMemcached } from '../api/index.ts';
import type { Kind } from '../kubernetes/object.ts';
import type { ServiceMonitor } from '../kubernetes/service-monitor.ts';
import { childMetadata, selectorLabels } from './identity.ts';
import { METRICS_PORT } from './ports.ts';

export const serviceMonitorKind: Kind = {
  apiVersion: 'monitoring.coreos.com/v1',
  kind: 'ServiceMonitor',
  plural: 'servicemonitors',
  namespaced: true,
};

export function serviceMonitorFor(memcached: DefaultedMemcached): ServiceMonitor | undefined {
  const { enabled, serviceMonitor } = memcached.spec.monitoring;
  if (!enabled) return undefined;
  const { interval, scrapeTimeout, additionalLabels } = serviceMonitor;
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'ServiceMonitor',
    metadata: childMetadata(memcached, { labels: additionalLabels }),
    spec: {
      selector: { matchLabels: selectorLabels(memcached) },
      endpoints: [{ port: METRICS_PORT.name, interval, scrapeTimeout }],
    },
  };
}
