/** The children of a Memcached, in the order in which they are applied. */
import type { DefaultedMemcached } from '../api/index.ts';
import type { Kind, KubernetesObject } from '../kubernetes/object.ts';
import { autoscalerFor, autoscalerKind } from './autoscaler.ts';
import { deploymentFor, deploymentKind } from './deployment.ts';
import { disruptionBudgetFor, disruptionBudgetKind } from './disruption-budget.ts';
import { ENDPOINT_SLICE_SELECTOR, endpointSliceFor, endpointSliceKind } from './endpoint-slice.ts';
import { networkPolicyFor, networkPolicyKind } from './network-policy.ts';
import { serviceFor, serviceKind } from './service.ts';
import { serviceMonitorFor, serviceMonitorKind } from './service-monitor.ts';
import type { Surroundings } from './surroundings.ts';
import { withoutEmpties } from './without-empties.ts';

export { deploymentKind } from './deployment.ts';
export { MANAGED_BY, MANAGED_SELECTOR, podSelector } from './identity.ts';
export type { Server, Surroundings } from './surroundings.ts';

/** A kind of child, and how it is made; nothing where the Memcached wants none. */
export interface Child {
  readonly kind: Kind;
  /** Selects ours among all of the kind, where the label that they all have is not enough. */
  readonly selector?: string;
  /** Whether the cluster may not know the kind: then there is none of it, and nothing is wrong. */
  readonly needsCrd?: true;
  /** Whether it follows the pods, and not the spec: then it does so even while the spec is not carried out, and without a word. */
  readonly followsPods?: true;
  readonly build: (memcached: DefaultedMemcached, surroundings: Surroundings) => KubernetesObject | undefined;
}

/** Watches, differences and permissions all follow from this table. */
const table: readonly Child[] = [
  { kind: deploymentKind, build: deploymentFor },
  { kind: serviceKind, build: serviceFor },
  { kind: endpointSliceKind, selector: ENDPOINT_SLICE_SELECTOR, followsPods: true, build: endpointSliceFor },
  { kind: disruptionBudgetKind, build: disruptionBudgetFor },
  { kind: serviceMonitorKind, needsCrd: true, build: serviceMonitorFor },
  { kind: networkPolicyKind, build: networkPolicyFor },
  { kind: autoscalerKind, build: autoscalerFor },
];

export const children: readonly Child[] = table.map((child) => ({
  ...child,
  build: (memcached, surroundings) => withoutEmpties(child.build(memcached, surroundings)),
}));
