/** A ServiceMonitor of the Prometheus operator, as far as we write it. */
import type { KubernetesObject } from './object.ts';
import type { LabelSelector } from './selector.ts';

export interface ServiceMonitor extends KubernetesObject {
  readonly apiVersion: 'monitoring.coreos.com/v1';
  readonly kind: 'ServiceMonitor';
  readonly spec: {
    readonly selector: LabelSelector;
    readonly endpoints: readonly { readonly port: string; readonly interval: string; readonly scrapeTimeout: string }[];
  };
}
