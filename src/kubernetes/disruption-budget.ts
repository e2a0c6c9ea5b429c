/** A PodDisruptionBudget, as far as we write it. */
import type { KubernetesObject } from './object.ts';
import type { LabelSelector } from './selector.ts';

export interface PodDisruptionBudget extends KubernetesObject {
  readonly apiVersion: 'policy/v1';
  readonly kind: 'PodDisruptionBudget';
  readonly spec: {
    readonly minAvailable?: number | string;
    readonly maxUnavailable?: number | string;
    readonly selector: LabelSelector;
  };
}
