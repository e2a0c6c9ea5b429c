/** What a Memcached that is gone has left to one of the same name. Kubernetes collects it as a rule, but has been seen to forget it. */
import { type Memcached, memcachedKind } from '../api/index.ts';
import { type Client, isNotFound } from '../runtime/client/index.ts';
import { keyOf } from '../runtime/key.ts';
import type { ObservedChild } from './observed.ts';

/** Whether nobody owns the child but a Memcached of that name, and not this one. */
export function isLeftover(child: ObservedChild, memcached: Memcached): boolean {
  const isOfSameName = child.ownerUid !== undefined && child.memcached === keyOf(memcached);
  return isOfSameName && child.ownerUid !== memcached.metadata.uid && !child.hasCoOwners && !child.isDeleting;
}

/** Whether the name belongs to this Memcached now, and hence to no other any more: the watch may be behind. */
export async function hasItsName(
  { metadata: { name, namespace, uid } }: Memcached,
  client: Pick<Client, 'get'>,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const { metadata } = await client.get(memcachedKind, name, namespace, { metadataOnly: true, signal });
    return metadata.uid === uid;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
