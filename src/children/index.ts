/** The children of a Memcached, in the order in which they are applied. */
import type { DefaultedMemcached } from '../api/index.ts';
import type { Kind, KubernetesObject } from '../kubernetes/object.ts';
import { autoscalerFor, autoscalerKind } from './autoscaler.ts';
import { deploymentFor, deploymentKind } from './deployment.ts';
import { disruptionBudgetFor, disruptionBudgetKind } from './disruption-budget.ts';
import { networkPolicyFor, networkPolicyKind } from './network-policy.ts';
import { serviceFor, serviceKind } from './service.ts';
import { serviceMonitorFor, serviceMonitorKind } from './service-monitor.ts';
import type { Surroundings } from './surroundings.ts';
import { withoutEmpties } from './without-empties.ts';

export { deploymentKind } from './deployment.ts';
export { MANAGED_BY, MANAGED_SELECTOR, podSelector } from './identity.ts';
export type { Surroundings } from './surroundings.ts';

/** A kind of child, and how it is made; nothing where the Memcached wants none. */
export interface Child {
  readonly kind: Kind;
  /** Whether the cluster may not know the kind: then there is none of it, and nothing is wrong. */
  readonly needsCrd?: true;
  readonly build: (memcached: DefaultedMemcached, surroundings: Surroundings) => KubernetesObject | undefined;
}

/** Watches, differences and permissions all follow from this table. */
const table: readonly Child[] = [
  { kind: deploymentKind, build: deploymentFor },
  { kind: serviceKind, build: serviceFor },
  { kind: disruptionBudgetKind, build: disruptionBudgetFor },
  { kind: serviceMonitorKind, needsCrd: true, build: serviceMonitorFor },
  { kind: networkPolicyKind, build: networkPolicyFor },
  { kind: autoscalerKind, build: autoscalerFor },
];

export const children: readonly Child[] = table.map((child) => ({
  ...child,
  build: (memcached, surroundings) => withoutEmpties(child.build(memcached, surroundings)),
}));
