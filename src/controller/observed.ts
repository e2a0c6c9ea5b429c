/** What is remembered of the objects in the cluster: the little that a reconcile reads. */
import { memcachedKind } from '../api/index.ts';
import { slotsIn } from '../children/endpoint-slice.ts';
import { MANAGED_BY } from '../children/index.ts';
import type { Deployment } from '../kubernetes/deployment.ts';
import type { EndpointSlice } from '../kubernetes/endpoint-slice.ts';
import type { KubernetesObject, ObjectMeta } from '../kubernetes/object.ts';
import type { Pod } from '../kubernetes/pod.ts';
import type { DeploymentObservation, PodObservation } from '../status/observation.ts';
import { lacksRoom, podProblem } from '../status/pod-problem.ts';
import { basisOf, digestOf, isApplied, observedFingerprint } from './fingerprint.ts';
import type { Slots } from './slots/slots.ts';

type Identity = Required<Pick<ObjectMeta, 'name' | 'namespace' | 'uid' | 'resourceVersion'>>;

export interface ObservedChild {
  readonly metadata: Identity;
  /** The Memcached that it belongs to, by its labels and its owner. */
  readonly memcached: string | undefined;
  readonly ownerUid: string | undefined;
  /** Others are named as its owners, too. */
  readonly hasCoOwners?: true;
  readonly isDeleting: boolean;
  /** The finalizers that keep it from being gone. */
  readonly heldBy?: readonly string[];
  readonly fingerprint: string;
  readonly deployment?: ObservedDeployment;
  /** Of an EndpointSlice: the pods that have the names of servers. */
  readonly slots?: Slots;
}

export interface ObservedDeployment extends DeploymentObservation {
  /** Whether the number of servers is what we have set, or somebody else's choice. */
  readonly ownsReplicas: boolean;
  /** A digest of the whole spec. */
  readonly spec: string;
  /** A digest of all that the fingerprint follows from. */
  readonly basis: string;
}

export interface ObservedPod {
  readonly metadata: Identity;
  readonly memcached: string | undefined;
  readonly observation: PodObservation;
  /** It passes its probe, and can be reached. */
  readonly isReady: boolean;
  readonly isDeleting: boolean;
  readonly createdAt: string;
  readonly address?: string;
  readonly node?: string;
  /** Those with the least are deleted first when there are too many. */
  readonly deletionCost?: string;
}

export const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';

/** Those of garbage collection, which takes its time and goes on by itself. */
const ITS_OWN = ['foregroundDeletion', 'orphan'];

/** `previous` is what was observed of it before. */
export function observeChild(object: KubernetesObject, previous?: ObservedChild): ObservedChild {
  const { ownerReferences = [], deletionTimestamp, finalizers = [] } = object.metadata;
  const isDeleting = deletionTimestamp !== undefined;
  const owner = ownerReferences.find(
    ({ controller, kind, apiVersion }) =>
      controller && kind === memcachedKind.kind && apiVersion === memcachedKind.apiVersion,
  );
  const name = owner?.name ?? instanceLabel(object);
  const deployment = object.kind === 'Deployment' ? observeDeployment(object as Deployment, previous) : undefined;
  // Other controllers write the status of a Deployment again and again, and nothing of it is ours.
  const isSame = deployment !== undefined && deployment.basis === previous?.deployment?.basis;
  return {
    metadata: identityOf(object),
    memcached: name && `${object.metadata.namespace}/${name}`,
    ownerUid: owner?.uid,
    ...(ownerReferences.length > 1 && { hasCoOwners: true }),
    isDeleting,
    ...(isDeleting && { heldBy: finalizers.filter((finalizer) => !ITS_OWN.includes(finalizer)) }),
    fingerprint: isSame && previous ? previous.fingerprint : observedFingerprint(object, MANAGED_BY),
    ...(deployment && { deployment }),
    ...(object.kind === 'EndpointSlice' && { slots: slotsIn(object as EndpointSlice) }),
  };
}

export function observePod(object: KubernetesObject): ObservedPod {
  const pod = object as Pod;
  const { metadata, spec, status = {} } = pod;
  const problem = podProblem(pod);
  const name = instanceLabel(pod);
  const { podIP: address, conditions = [] } = status;
  const deletionCost = metadata.annotations?.[DELETION_COST];
  const isDeleting = metadata.deletionTimestamp !== undefined;
  return {
    metadata: identityOf(pod),
    memcached: name && `${metadata.namespace}/${name}`,
    isReady: address !== undefined && conditions.some((one) => one.type === 'Ready' && one.status === 'True'),
    isDeleting,
    createdAt: metadata.creationTimestamp ?? '',
    ...(address !== undefined && { address }),
    ...(spec.nodeName !== undefined && { node: spec.nodeName }),
    ...(deletionCost !== undefined && { deletionCost }),
    observation: {
      name: metadata.name,
      ...(problem !== undefined && { problem }),
      lacksRoom: lacksRoom(pod),
      isLeaving: isDeleting,
    },
  };
}

function observeDeployment(deployment: Deployment, previous: ObservedChild | undefined): ObservedDeployment {
  const { metadata, spec, status = {} } = deployment;
  const before = previous?.metadata.uid === metadata.uid ? previous?.deployment : undefined;
  const digest = digestOf(JSON.stringify(spec));
  const condition = (type: string) => status.conditions?.find((found) => found.type === type);
  const failure = condition('ReplicaFailure');
  return {
    // An annotation makes a new generation as well, but no work: what counts is since when the spec is what it is.
    generation: before?.spec === digest ? before.generation : (metadata.generation ?? 0),
    observedGeneration: status.observedGeneration ?? 0,
    wanted: spec.replicas ?? 1,
    total: status.replicas ?? 0,
    updated: status.updatedReplicas ?? 0,
    ready: status.readyReplicas ?? 0,
    available: status.availableReplicas ?? 0,
    isAvailable: condition('Available')?.status === 'True',
    deadlineExceeded: condition('Progressing')?.reason === 'ProgressDeadlineExceeded',
    ownsReplicas: isApplied(deployment, MANAGED_BY, ['spec', 'replicas']),
    spec: digest,
    basis: basisOf(deployment, digest, MANAGED_BY),
    ...(failure?.status === 'True' && { replicaFailure: failure.message ?? failure.reason ?? 'no reason given' }),
  };
}

function instanceLabel({ metadata }: KubernetesObject): string | undefined {
  return metadata.labels?.['app.kubernetes.io/instance'];
}

function identityOf({ metadata }: KubernetesObject): Identity {
  const { name, namespace = '', uid = '', resourceVersion = '' } = metadata;
  return { name, namespace, uid, resourceVersion };
}
