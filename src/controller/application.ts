/** Carries out the steps. A step that fails keeps neither the others nor the status from happening. */
import { MANAGED_BY } from '../children/index.ts';
import type { Kind, KubernetesObject } from '../kubernetes/object.ts';
import { ApiError, type Client } from '../runtime/client/index.ts';
import type { Fault } from '../status/observation.ts';
import type { Step } from './difference.ts';
import { intruders } from './intruders.ts';
import { observeChild } from './observed.ts';

export interface Outcome {
  readonly step: Step;
  /** What became of it: done, or somebody else's, or an error of the API. */
  readonly object?: KubernetesObject;
  readonly fault?: Fault;
  readonly error?: Error;
}

type Writer = Pick<Client, 'get' | 'apply' | 'patch' | 'delete'>;

/** Applies one step on behalf of the Memcached with that uid. */
export async function applyStep(step: Step, ownerUid: string, client: Writer, signal: AbortSignal): Promise<Outcome> {
  try {
    if (step.verb === 'create') return await create(step, ownerUid, client, signal);
    if (step.verb === 'leave') return conflict(step, step.kind, step.name);
    if (step.verb === 'update') return { step, object: await update(step, client, signal) };
    const { name, namespace, uid } = step.observed.metadata;
    await client.delete(step.kind, name, namespace, { uid, signal });
    return { step };
  } catch (caught) {
    const error = caught instanceof Error ? caught : new Error(String(caught));
    return { step, error, fault: { reason: 'ApplyFailed', message: `${step.kind.kind}: ${error.message}` } };
  }
}

/** Creates the child, unless its name is taken: then it depends on whose the object is. */
async function create(
  step: Step & { readonly verb: 'create' },
  ownerUid: string,
  client: Writer,
  signal: AbortSignal,
): Promise<Outcome> {
  const { kind, desired } = step;
  try {
    // An apply with a version succeeds only where there is no object.
    return { step, object: await apply(kind, desired, { resourceVersion: '1' }, client, signal) };
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 409)) throw error;
    const { name, namespace } = desired.metadata;
    const existing = await client.get(kind, name, namespace, { signal });
    const observed = observeChild(existing);
    if (observed.ownerUid !== ownerUid) return conflict(step, kind, name);
    // Ours after all, but without the labels by which we would have seen it.
    return { step, object: await apply(kind, desired, { uid: observed.metadata.uid }, client, signal) };
  }
}

/** Applies it over what is there. What bears a name of ours, and keeps ours out by it, has to go first. */
async function update(
  { kind, desired, uid }: Step & { readonly verb: 'update' },
  client: Writer,
  signal: AbortSignal,
): Promise<KubernetesObject> {
  try {
    return await apply(kind, desired, { uid }, client, signal);
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 422)) throw error;
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
