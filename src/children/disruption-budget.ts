/** The PodDisruptionBudget: how many servers a drain of nodes has to leave alone. */
import type { DefaultedMemcached } from '../api/index.ts';
import type { PodDisruptionBudget } from '../kubernetes/disruption-budget.ts';
import type { Kind } from '../kubernetes/object.ts';
import { childMetadata, selectorLabels } from './identity.ts';

export const disruptionBudgetKind: Kind = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  plural: 'poddisruptionbudgets',
  namespaced: true,
};

export function disruptionBudgetFor(memcached: DefaultedMemcached): PodDisruptionBudget | undefined {
  const { enabled, minAvailable, maxUnavailable } = memcached.spec.highAvailability.podDisruptionBudget;
  if (!enabled) return undefined;
  // The API takes one of the two. Admission asks for exactly one; where it did not see the Memcached, this is what it means.
  const room =
    minAvailable === undefined && maxUnavailable !== undefined
      ? { maxUnavailable }
      : { minAvailable: minAvailable ?? 1 };
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: childMetadata(memcached),
    spec: { ...room, selector: { matchLabels: selectorLabels(memcached) } },
  };
}
