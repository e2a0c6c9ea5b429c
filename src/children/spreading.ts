/** How the servers are spread over nodes, zones and other parts of a cluster. */
import type { DefaultedMemcached } from '../api/index.ts';
import type { TopologySpreadConstraint } from '../kubernetes/core.ts';
import type { PodAntiAffinity } from '../kubernetes/pod-template.ts';
import { selectorLabels } from './identity.ts';

export function antiAffinity(memcached: DefaultedMemcached): PodAntiAffinity {
  const { 'app.kubernetes.io/managed-by': _, ...matchLabels } = selectorLabels(memcached);
  const term = { labelSelector: { matchLabels }, topologyKey: 'kubernetes.io/hostname' };
  return memcached.spec.highAvailability.antiAffinityPreset === 'hard'
    ? { requiredDuringSchedulingIgnoredDuringExecution: [term] }
    : { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: term }] };
}

/** As the user says it. A constraint that does not say which pods to count would count none, and spread nothing: then it is these. */
export function spreadConstraints(memcached: DefaultedMemcached): TopologySpreadConstraint[] {
  const own = { matchLabels: selectorLabels(memcached) };
  const { topologySpreadConstraints = [] } = memcached.spec.highAvailability;
  return topologySpreadConstraints.map((constraint) => ({
    ...constraint,
    labelSelector: constraint.labelSelector ?? own,
  }));
}
