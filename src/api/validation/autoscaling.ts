/** Only one may decide the number of servers, and whoever does must be able to. */
import type { MetricSpec } from '../../kubernetes/autoscaling.ts';
import { type Check, invalid, required, type Warning } from './field-error.ts';

export const replicasHaveOneMaster: Check = ({ spec }) => {
  if (!spec.autoscaling.enabled || spec.replicas === undefined) return [];
  const detail = 'spec.replicas and spec.autoscaling.enabled are mutually exclusive';
  return [invalid('spec.replicas', spec.replicas, detail)];
};

export const scalingHasRange: Check = ({ spec }) => {
  const { enabled, minReplicas = 1, maxReplicas } = spec.autoscaling;
  if (!enabled) return [];
  if (maxReplicas === undefined) {
    return [required('spec.autoscaling.maxReplicas', 'maxReplicas is required when autoscaling is enabled')];
  }
  if (minReplicas <= maxReplicas) return [];
  const detail = `minReplicas (${minReplicas}) must not exceed maxReplicas (${maxReplicas})`;
  return [invalid('spec.autoscaling.minReplicas', minReplicas, detail)];
};

export const cpuUtilizationHasRequest: Check = ({ spec }) => {
  const { enabled, metrics = [] } = spec.autoscaling;
  if (!enabled || spec.resources?.requests?.['cpu'] !== undefined) return [];
  if (!metrics.some((metric) => isUtilization(metric, 'cpu'))) return [];
  const field = 'spec.resources.requests.cpu';
  return [required(field, 'resources.requests.cpu is required when using CPU utilization metrics')];
};

/** Whether the metric is a share of what the memcached container requests. */
function isUtilization({ resource, containerResource }: MetricSpec, name: string): boolean {
  const ours = containerResource?.container === 'memcached' ? containerResource : undefined;
  return [resource, ours].some((source) => source?.name === name && source.target?.type === 'Utilization');
}

/** The autoscaler wants a request from every container of the pod, and the exporter is one. */
export const utilizationIsUnknown: Warning = ({ spec }) => {
  const { enabled, metrics = [] } = spec.autoscaling;
  if (!enabled || !spec.monitoring.enabled) return undefined;
  const requests = Object.keys(spec.monitoring.exporterResources?.requests ?? {});
  const missing = metrics
    .filter(({ resource }) => resource?.target?.type === 'Utilization')
    .map(({ resource }) => resource?.name ?? '')
    .filter((name) => !requests.includes(name));
  if (missing.length === 0) return undefined;
  return `spec.autoscaling.metrics: utilization cannot be computed while spec.monitoring.exporterResources.requests has no ${missing.join(', ')}; set it, or use a metric of type ContainerResource`;
};
