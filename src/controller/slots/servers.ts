/** The pods of a Memcached that have the names of its servers. */
import type { Server } from '../../children/index.ts';
import type { ObservedPod } from '../observed.ts';
import type { World } from '../world.ts';
import { assignSlots } from './slots.ts';

/** Who had which name is what the EndpointSlice says: nothing else has to be remembered, unless somebody deletes it. */
export function serversOf(key: string, count: number, world: Pick<World, 'slotsOf' | 'podsOf'>): Server[] {
  const pods = new Map(world.podsOf(key).map((pod) => [pod.metadata.name, pod]));
  const candidates = [...pods].map(([name, pod]) => ({ ...pod, name }));
  const slots = assignSlots(world.slotsOf(key), candidates, count);
  return slots.flatMap((name, slot) => serverOf(slot, pods.get(name ?? '')) ?? []);
}

function serverOf(slot: number, pod: ObservedPod | undefined): Server | undefined {
  if (pod?.address === undefined) return undefined;
  const { metadata, address, node, isReady, isDeleting } = pod;
  return { slot, pod: metadata.name, address, isReady, isDeleting, ...(node !== undefined && { node }) };
}
