/** Metrics for Prometheus. */
import type { ResourceRequirements } from '../../kubernetes/core.ts';
import { defaultValues } from '../default-values.ts';
import { boolean, embedded, object, string } from './json-schema.ts';
import { labels } from './labels.ts';

/** What Prometheus takes for a duration. */
const DURATION = '^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$';

const serviceMonitorSchema = object(
  'The ServiceMonitor that tells a Prometheus operator to scrape the servers. There is one when monitoring is enabled and the cluster knows ServiceMonitors.',
  {
    additionalLabels: labels('More labels of the ServiceMonitor, such as those that Prometheus selects by.'),
    interval: string('Time between two scrapes.', {
      pattern: DURATION,
      default: defaultValues.serviceMonitor.interval,
    }),
    scrapeTimeout: string('How long a scrape may take; not longer than the interval.', {
      pattern: DURATION,
      default: defaultValues.serviceMonitor.scrapeTimeout,
    }),
  },
);

export const monitoringSchema = object('Metrics for Prometheus.', {
  enabled: boolean('Whether each server has an exporter beside it that serves metrics on port 9150.', {
    default: false,
  }),
  exporterImage: string(
    `Image of the exporter. Default: ${defaultValues.exporterImage}, or what the operator was started with.`,
  ),
  exporterResources: embedded<ResourceRequirements>(
    'ResourceRequirements',
    'CPU and memory that the exporter asks for and may use.',
  ),
  serviceMonitor: serviceMonitorSchema,
});
