/** What has to be done so that the children are as they should be. */
import type { DefaultedMemcached } from '../api/index.ts';
import { type Child, children, type Surroundings } from '../children/index.ts';
import type { Kind, KubernetesObject } from '../kubernetes/object.ts';
import { wantedFingerprint } from './fingerprint.ts';
import type { ObservedChild } from './observed.ts';

export type Step =
  | { readonly verb: 'create'; readonly kind: Kind; readonly desired: KubernetesObject }
  | { readonly verb: 'update'; readonly kind: Kind; readonly desired: KubernetesObject; readonly uid: string }
  | { readonly verb: 'delete'; readonly kind: Kind; readonly observed: ObservedChild }
  | { readonly verb: 'leave'; readonly kind: Kind; readonly name: string };

export interface Seen {
  child(kind: Kind): ObservedChild | undefined;
  /** Whether the server is known to store the wanted object with another fingerprint. */
  isKnownRewrite(uid: string, wanted: string, observed: string): boolean;
}

/** One step for each child that is not as it should be, in the order of the table; none when all is well. */
export function difference(memcached: DefaultedMemcached, surroundings: Surroundings, seen: Seen): Step[] {
  return children.flatMap(
    (child) => stepFor(child, child.build(memcached, surroundings), memcached.metadata.uid, seen) ?? [],
  );
}

function stepFor(
  { kind }: Child,
  desired: KubernetesObject | undefined,
  ownerUid: string | undefined,
  seen: Seen,
): Step | undefined {
  const observed = seen.child(kind);
  if (!observed) return desired && { verb: 'create', kind, desired };
  const { uid, name } = observed.metadata;
  const isOurs = observed.ownerUid === ownerUid;
  if (!desired) return isOurs && !observed.isDeleting ? { verb: 'delete', kind, observed } : undefined;
  if (!isOurs) return { verb: 'leave', kind, name };
  if (observed.isDeleting) return undefined; // it is made anew when it is gone
  const wanted = wantedFingerprint(desired);
  if (observed.fingerprint === wanted || seen.isKnownRewrite(uid, wanted, observed.fingerprint)) return undefined;
  return { verb: 'update', kind, desired, uid };
}
