/** Carries out the steps. A step that fails keeps neither the others nor the status from happening. */
import type { Memcached } from '../api/index.ts';
import { children, MANAGED_BY } from '../children/index.ts';
import type { Kind, KubernetesObject } from '../kubernetes/object.ts';
import { ApiError, type Client, isConflict, isNotFound, isRefused } from '../runtime/client/index.ts';
import type { Fault } from '../status/observation.ts';
import type { Step } from './difference.ts';
import { observedFingerprint } from './fingerprint.ts';
import { passReplicas } from './hand-over.ts';
import { intruders } from './intruders.ts';
import { hasItsName, isLeftover } from './leftovers.ts';
import { DELETION_COST, type ObservedChild, observeChild } from './observed.ts';
import type { PodMark } from './slots/farewell.ts';
import { podKind } from './world.ts';

export interface Outcome {
  readonly step: Step;
  /** The child was written, and is known as it is now. */
  readonly isWritten?: true;
  /** Or it is somebody else's, or there was an error of the API. */
  readonly fault?: Fault;
  readonly error?: Error;
  /** There was nothing to do, after all: what had to go is gone or somebody else's, or its kind is leaving the cluster. */
  readonly isMoot?: true;
  /** Nothing has changed but the records of who set what. */
  readonly isUnseen?: true;
}

/** The object as it is now, where it was written. It is not part of the outcome: that is kept until all steps are done. */
type Result = Outcome & { readonly object?: KubernetesObject };

const MOST_TRIES = 5;

type Writer = Pick<Client, 'get' | 'apply' | 'patch' | 'delete'>;

/** Applies one step on behalf of its owner. */
export async function applyStep(step: Step, owner: Memcached, client: Writer, signal: AbortSignal): Promise<Result> {
  try {
    if (step.verb === 'create') return await create(step, owner, client, signal);
    if (step.verb === 'leave') return conflict(step, step.kind, step.name);
    if (step.verb === 'wait') return wait(step);
    if (step.verb === 'update') return await update(step, client, signal);
    return (await remove(step, owner, client, signal)) ? { step } : { step, isMoot: true };
  } catch (caught) {
    if (isMoot(step, caught)) return { step, isMoot: true };
    const error = caught instanceof Error ? caught : new Error(String(caught));
    return { step, error, fault: { reason: 'ApplyFailed', message: `${step.kind.kind}: ${error.message}` } };
  }
}

/** Creates the child, unless its name is taken: then it depends on whose the object is. */
async function create(
  step: Step & { readonly verb: 'create' },
  { metadata: { uid } }: Memcached,
  client: Writer,
  signal: AbortSignal,
): Promise<Result> {
  const { kind, desired } = step;
  try {
    // An apply with a version succeeds only where there is no object.
    return { step, object: await apply(kind, desired, { resourceVersion: '1' }, client, signal) };
  } catch (error) {
    if (!isConflict(error)) throw error;
    const { name, namespace } = desired.metadata;
    const existing = await client.get(kind, name, namespace, { signal });
    const observed = observeChild(existing);
    if (observed.ownerUid !== uid) return conflict(step, kind, name);
    // Ours after all, but without the labels by which we would have seen it.
    return { step, object: await apply(kind, desired, { uid: observed.metadata.uid }, client, signal) };
  }
}

/**
 * Deletes the child as it was seen; where it has changed since, only while it still may go. Most changes are a status that another
 * controller writes, sometimes several in a row. Says whether there was something to delete.
 */
async function remove(
  { kind, observed }: Step & { readonly verb: 'delete' },
  owner: Memcached,
  client: Writer,
  signal: AbortSignal,
): Promise<boolean> {
  let seen = observed;
  for (let tries = 1; await mayGo(seen, owner, client, signal); tries += 1) {
    const { name, namespace, uid, resourceVersion } = seen.metadata;
    try {
      await client.delete(kind, name, namespace, { uid, resourceVersion, signal });
      return true;
    } catch (error) {
      if (!isConflict(error) || tries === MOST_TRIES) throw error;
      seen = observeChild(await client.get(kind, name, namespace, { signal }));
    }
  }
  return false;
}

/** What is its owner's may go, and what nobody owns any more but a Memcached that had the name before. */
async function mayGo(child: ObservedChild, owner: Memcached, client: Writer, signal: AbortSignal): Promise<boolean> {
  if (child.ownerUid === owner.metadata.uid) return true;
  return isLeftover(child, owner) && (await hasItsName(owner, client, signal));
}

/** Has the replicas handed over first, where somebody else shall decide them: often nothing else is left to do then. */
async function update(step: Step & { readonly verb: 'update' }, client: Writer, signal: AbortSignal): Promise<Result> {
  const { kind, desired, fingerprint, uid, handOver, farewells = [] } = step;
  await Promise.all(farewells.map((one) => mark(one, desired.metadata.namespace, client, signal)));
  const handedOver = handOver && (await passReplicas(desired, uid, handOver, client, signal));
  if (handedOver && observedFingerprint(handedOver, MANAGED_BY) === fingerprint)
    return { step, object: handedOver, isUnseen: true };
  return { step, object: await applyOver(kind, desired, uid, client, signal) };
}

/** Applies it over what is there. What bears a name of ours, and keeps ours out by it, has to go first. */
async function applyOver(
  kind: Kind,
  desired: KubernetesObject,
  uid: string,
  client: Writer,
  signal: AbortSignal,
): Promise<KubernetesObject> {
  try {
    return await apply(kind, desired, { uid }, client, signal);
  } catch (error) {
    if (!isRefused(error)) throw error;
    const { name, namespace } = desired.metadata;
    const existing = await client.get(kind, name, namespace, { signal });
    const paths = intruders(desired, existing);
    if (paths.length === 0) throw error;
    const same = ['uid', 'resourceVersion'] as const;
    const body = [
      ...same.map((field) => ({ op: 'test', path: `/metadata/${field}`, value: existing.metadata[field] })),
      ...paths.map((path) => ({ op: 'remove', path })),
    ];
    await client.patch(kind, name, namespace, { type: 'json', body, signal });
    return apply(kind, desired, { uid }, client, signal);
  }
}

/** Tells Kubernetes which pod to delete sooner than others. */
async function mark(
  { name, cost }: PodMark,
  namespace: string | undefined,
  client: Writer,
  signal: AbortSignal,
): Promise<void> {
  try {
    const body = { metadata: { annotations: { [DELETION_COST]: cost ?? null } } };
    await client.patch(podKind, name, namespace, { type: 'merge', body, signal });
  } catch (error) {
    if (!isNotFound(error)) throw error; // else it went by itself
  }
}

/**
 * Whether the child is gone that had to go, or its kind is leaving the cluster: the watch of its definition tells that as
 * well, but not always before it is noticed here. (A server that finds other words for it is reported, until the watch tells.)
 */
function isMoot({ verb, kind }: Step, error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  const mayLeave = children.some((child) => child.kind === kind && child.needsCrd);
  if (error.status === 404) return verb === 'delete' || mayLeave;
  return mayLeave && error.message.includes('custom resource definition is terminating');
}

function apply(
  kind: Kind,
  desired: KubernetesObject,
  condition: { readonly uid: string } | { readonly resourceVersion: string },
  client: Writer,
  signal: AbortSignal,
): Promise<KubernetesObject> {
  const object = { ...desired, metadata: { ...desired.metadata, ...condition } };
  return client.apply(kind, object, { fieldManager: MANAGED_BY, force: true, signal });
}

function conflict(step: Step, { kind }: Kind, name: string): Outcome {
  const message = `${kind} ${name} exists and belongs to somebody else: rename or remove it, or give the Memcached another name`;
  return { step, fault: { reason: 'ResourceConflict', message } };
}

/** What is being deleted is gone in a moment, unless somebody holds it. */
function wait(step: Step & { readonly verb: 'wait' }): Outcome {
  const { kind, observed } = step;
  const { metadata, heldBy = [] } = observed;
  if (heldBy.length === 0) return { step };
  const message = `${kind.kind} ${metadata.name} was deleted, and is made anew when it is gone: ${heldBy.join(', ')} holds it. See to who set that finalizer`;
  return { step, fault: { reason: 'ApplyFailed', message } };
}
