/** Every default of the API. The schema, the webhook, the controller and the documentation all take them from here. */
import type { MetricSpec } from '../kubernetes/autoscaling.ts';
import type { PodSecurityContext, SecurityContext } from '../kubernetes/core.ts';

/** memcached's user in the official image. */
const MEMCACHED_ID = 11211;

const cpuUtilization: MetricSpec = {
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
};

const podSecurityContext: PodSecurityContext = {
  runAsNonRoot: true,
  runAsUser: MEMCACHED_ID,
  runAsGroup: MEMCACHED_ID,
  fsGroup: MEMCACHED_ID,
  seccompProfile: { type: 'RuntimeDefault' },
};

const containerSecurityContext: SecurityContext = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

export const defaultValues = {
  /** Unless the cache scales itself. */
  replicas: 1,
  image: 'memcached:1.6',
  memcached: {
    maxMemoryMB: 64,
    maxConnections: 1024,
    threads: 4,
    maxItemSize: '1m',
    verbosity: 0,
    extraArgs: [],
  },
  antiAffinityPreset: 'soft',
  /** Without the section `gracefulShutdown`. */
  shutdown: { enabled: true, preStopDelaySeconds: 5, terminationGracePeriodSeconds: 30 },
  /** In the section `gracefulShutdown`. */
  gracefulShutdown: { enabled: false, preStopDelaySeconds: 10, terminationGracePeriodSeconds: 30 },
  exporterImage: 'prom/memcached-exporter:v0.15.4',
  serviceMonitor: { interval: '30s', scrapeTimeout: '10s' },
  autoscaling: {
    minReplicas: 1,
    metrics: [cpuUtilization],
    behavior: { scaleDown: { stabilizationWindowSeconds: 300 } },
  },
  podSecurityContext,
  containerSecurityContext,
} as const;
