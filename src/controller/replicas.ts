/**
 * Who decides the number of servers, and how the decision passes from one to the other while the number stays.
 *
 * A field that we have set and no longer mention goes back to its default: to stop mentioning the replicas would leave one server.
 * So another manager has to hold them before we let go, in our name, until the autoscaler decides.
 */
import { type DefaultedMemcached, defaultValues, type Memcached } from '../api/index.ts';
import { deploymentKind } from '../children/index.ts';
import type { Deployment } from '../kubernetes/deployment.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import type { ObservedDeployment } from './observed.ts';

/** What a Deployment gets that does not mention its replicas. */
const KUBERNETES_REPLICAS = 1;

/** What holds the replicas in place of us. */
export interface HandOver {
  readonly replicas: number;
  /** Whether that is another number than there is now. */
  readonly isNew: boolean;
}

/** For a Deployment that shall not mention its replicas any more; nothing where it never did, or still shall. */
export function handOver(
  desired: KubernetesObject,
  observed: ObservedDeployment | undefined,
  memcached: DefaultedMemcached,
): HandOver | undefined {
  if (!observed?.ownsReplicas || (desired as Deployment).spec.replicas !== undefined) return undefined;
  // From nothing, an autoscaler never begins.
  return observed.wanted === 0
    ? { replicas: leastReplicas(memcached), isNew: true }
    : { replicas: observed.wanted, isNew: false };
}

/**
 * A child as it is created: a Deployment starts with the least number that its autoscaler would choose, the others are as they are wanted.
 * Where Kubernetes chooses the same, there is nothing to hand over.
 */
export function withFirstReplicas(desired: KubernetesObject, memcached: DefaultedMemcached): KubernetesObject {
  if (desired.kind !== deploymentKind.kind) return desired;
  const { spec } = desired as Deployment;
  const replicas = leastReplicas(memcached);
  if (spec.replicas !== undefined || replicas === KUBERNETES_REPLICAS) return desired;
  return { ...desired, spec: { ...spec, replicas } } as KubernetesObject;
}

function leastReplicas({ spec }: DefaultedMemcached): number {
  return spec.autoscaling.minReplicas ?? defaultValues.autoscaling.minReplicas;
}

/** A change of `spec.replicas`; nothing as its value removes it. */
export interface Settlement {
  readonly replicas: number | undefined;
}

/**
 * What admission would have made of the replicas of a Memcached whose autoscaling was just switched on or off, where no webhook
 * did it. On: the number that the servers still have was not meant against the autoscaler, and goes. Off: where none is
 * given, the present one is written down before the autoscaler goes, by which alone we know that there was one.
 */
export function settlement(
  { spec }: Memcached,
  deployment: ObservedDeployment | undefined,
  hasAutoscaler: boolean,
): Settlement | undefined {
  if (!deployment) return undefined;
  const { ownsReplicas, wanted } = deployment;
  if (!spec.autoscaling?.enabled) {
    return hasAutoscaler && spec.replicas === undefined ? { replicas: wanted } : undefined;
  }
  const isLeftOver = !hasAutoscaler && ownsReplicas && spec.replicas === wanted;
  return isLeftOver ? { replicas: undefined } : undefined;
}
