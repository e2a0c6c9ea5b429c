/** The exporter beside each server, which shows its statistics to Prometheus. */
import type { DefaultedSpec } from '../api/index.ts';
import type { Container } from '../kubernetes/pod-template.ts';
import { METRICS_PORT } from './ports.ts';

/** Without an address it looks for memcached where it usually is: localhost:11211. */
export function exporterContainer({ monitoring, security }: DefaultedSpec, address: string | undefined): Container {
  return {
    name: 'exporter',
    image: monitoring.exporterImage,
    args: address === undefined ? [] : [`--memcached.address=${address}`],
    ports: [{ name: METRICS_PORT.name, containerPort: METRICS_PORT.port, protocol: 'TCP' }],
    resources: monitoring.exporterResources,
    securityContext: security.containerSecurityContext,
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
}
