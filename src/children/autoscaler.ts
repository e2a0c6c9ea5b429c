/** The HorizontalPodAutoscaler: it decides the number of servers by their load. */
import type { DefaultedMemcached } from '../api/index.ts';
import type { HorizontalPodAutoscaler } from '../kubernetes/autoscaling.ts';
import type { Kind } from '../kubernetes/object.ts';
import { deploymentKind } from './deployment.ts';
import { childMetadata } from './identity.ts';

export const autoscalerKind: Kind = {
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  plural: 'horizontalpodautoscalers',
  namespaced: true,
};

export function autoscalerFor(memcached: DefaultedMemcached): HorizontalPodAutoscaler | undefined {
  const { enabled, minReplicas, maxReplicas, metrics, behavior } = memcached.spec.autoscaling;
  if (!enabled) return undefined;
  const { apiVersion, kind } = deploymentKind;
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: childMetadata(memcached),
    spec: {
      scaleTargetRef: { apiVersion, kind, name: memcached.metadata.name },
      minReplicas,
      maxReplicas,
      metrics,
      behavior,
    },
  };
}
