/** Which server has which of the stable names: pure. */

/** A pod, as far as its name as a server goes. */
export interface Candidate {
  readonly name: string;
  /** It passes its probe. */
  readonly isReady: boolean;
  readonly isDeleting: boolean;
  /** Older pods are served first. */
  readonly createdAt: string;
}

/** The names of pods, by the number of their slot; nothing where a slot has none. */
export type Slots = readonly (string | undefined)[];

/**
 * Gives as many slots as there are servers to the pods that serve, moving as few as possible.
 *
 * A pod keeps its slot while it serves, and also while nobody else waits for it: a name leads to a server that is about to
 * go rather than nowhere, and one that failed a probe finds its old name when it recovers.
 */
export function assignSlots(previous: Slots, pods: readonly Candidate[], count: number): Slots {
  const byName = new Map(pods.map((pod) => [pod.name, pod]));
  const slots = Array.from({ length: count }, (_, slot) => byName.get(previous[slot] ?? '')?.name);
  const holders = new Set(slots);
  const waiting = pods.filter((pod) => isServing(pod) && !holders.has(pod.name)).toSorted(byAge);
  const free = slots
    .map((holder, slot) => ({ slot, need: needOf(byName.get(holder ?? '')) }))
    .filter(({ need }) => need > 0)
    .toSorted((one, other) => other.need - one.need || one.slot - other.slot);
  for (const { slot } of free.slice(0, waiting.length)) slots[slot] = waiting.shift()?.name;
  return slots;
}

function isServing({ isReady, isDeleting }: Candidate): boolean {
  return isReady && !isDeleting;
}

/** How much a slot needs another pod: most where its name leads nowhere, least where it still leads to a server. */
function needOf(holder: Candidate | undefined): number {
  if (!holder) return 3;
  if (isServing(holder)) return 0;
  return holder.isReady ? 1 : 2;
}

function byAge(one: Candidate, other: Candidate): number {
  return one.createdAt.localeCompare(other.createdAt) || one.name.localeCompare(other.name);
}
