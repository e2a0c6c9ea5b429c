/** Has somebody else hold the replicas of a Deployment in our name, before we let go of them. */
import { deploymentKind, MANAGED_BY } from '../children/index.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import { type Client, isConflict, isRefused } from '../runtime/client/index.ts';
import { isApplied } from './fingerprint.ts';
import type { HandOver } from './replicas.ts';

const HOLDER = `${MANAGED_BY}-replicas`;

type Writer = Pick<Client, 'apply' | 'patch'>;

/** Gives the Deployment as it is now, if we have let go already; nothing where we do so by not mentioning them from now on. */
export async function passReplicas(
  desired: KubernetesObject,
  uid: string,
  { replicas, isNew }: HandOver,
  client: Writer,
  signal: AbortSignal,
): Promise<KubernetesObject | undefined> {
  const moved = isNew ? undefined : await move(desired, uid, client, signal);
  // Who takes them for moved when they are not would leave one server.
  if (moved && !isApplied(moved, MANAGED_BY, ['spec', 'replicas'])) return moved;
  await hold(desired, uid, { replicas, isNew }, client, signal);
  return undefined;
}

/**
 * Moves them from our record of who set what to that of their holder. Nothing else changes, and nothing but this request is needed. Where we alone
 * have ever applied something, as with a new Deployment, ours is the first of the records; elsewhere it may not be, and nothing happens.
 */
async function move(
  { apiVersion, metadata: { name, namespace } }: KubernetesObject,
  uid: string,
  client: Writer,
  signal: AbortSignal,
): Promise<KubernetesObject | undefined> {
  const record = { apiVersion, fieldsType: 'FieldsV1', fieldsV1: { 'f:spec': { 'f:replicas': {} } } };
  const body = [
    { op: 'test', path: '/metadata/uid', value: uid },
    { op: 'test', path: '/metadata/managedFields/0/manager', value: MANAGED_BY },
    { op: 'test', path: '/metadata/managedFields/0/operation', value: 'Apply' },
    { op: 'remove', path: '/metadata/managedFields/0/fieldsV1/f:spec/f:replicas' },
    { op: 'add', path: '/metadata/managedFields/-', value: { manager: HOLDER, operation: 'Apply', ...record } },
  ];
  try {
    return await client.patch(deploymentKind, name, namespace, { type: 'json', body, signal });
  } catch (error) {
    if (!isRefused(error)) throw error;
    return undefined;
  }
}

/** Has their holder apply them as well. */
async function hold(
  { apiVersion, kind, metadata: { name, namespace } }: KubernetesObject,
  uid: string,
  { replicas, isNew }: HandOver,
  client: Writer,
  signal: AbortSignal,
): Promise<void> {
  const metadata = { name, ...(namespace !== undefined && { namespace }), uid };
  const held = { apiVersion, kind, metadata, spec: { replicas } } as KubernetesObject;
  try {
    await client.apply(deploymentKind, held, { fieldManager: HOLDER, force: isNew, signal });
  } catch (error) {
    if (!isConflict(error)) throw error; // else they are somebody's already
  }
}
