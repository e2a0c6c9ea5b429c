/** Which pods are to go first when there shall be fewer servers: those that have no place among the names that stay. Pure. */
import type { Server } from '../../children/index.ts';
import type { Deployment } from '../../kubernetes/deployment.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { ObservedDeployment, ObservedPod } from '../observed.ts';

/** Less than that of a pod that says nothing. */
const FIRST_TO_GO = '-1';

/** What a pod shall say of the order in which pods are deleted. */
export interface PodMark {
  readonly name: string;
  /** Nothing takes the mark off. */
  readonly cost: string | undefined;
}

/** The marks to set before a Deployment gets fewer replicas; none where all is marked, or no pod has to go. */
export function farewells(
  desired: KubernetesObject,
  observed: ObservedDeployment | undefined,
  pods: readonly ObservedPod[],
  staying: readonly Server[],
): PodMark[] {
  const { replicas } = (desired as Deployment).spec;
  if (replicas === undefined || !observed || replicas >= observed.wanted) return [];
  const stays = new Set(staying.map(({ pod }) => pod));
  return pods.flatMap(({ metadata: { name }, isDeleting, deletionCost }) => {
    const cost = stays.has(name) ? undefined : FIRST_TO_GO;
    return isDeleting || cost === deletionCost ? [] : [{ name, cost }];
  });
}
