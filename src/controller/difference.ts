/** What has to be done so that the children are as they should be. */
import type { DefaultedMemcached } from '../api/index.ts';
import { type Child, children, deploymentKind, type Surroundings } from '../children/index.ts';
import type { Deployment } from '../kubernetes/deployment.ts';
import type { Kind, KubernetesObject } from '../kubernetes/object.ts';
import { wantedFingerprint } from './fingerprint.ts';
import { isLeftover } from './leftovers.ts';
import type { ObservedChild, ObservedPod } from './observed.ts';
import { type HandOver, handOver, withFirstReplicas } from './replicas.ts';
import { farewells, type PodMark } from './slots/farewell.ts';
import { type Builder, builderFor, type Fingerprints, fingerprintsOf } from './wishes.ts';

export type Step =
  | ({ readonly verb: 'create' } & Written)
  | ({ readonly verb: 'update' } & Written & {
        readonly uid: string;
        /** All servers are replaced, as far as can be told. */
        readonly isRollout?: true;
        readonly handOver?: HandOver;
        readonly farewells?: readonly PodMark[];
      })
  | { readonly verb: 'delete'; readonly kind: Kind; readonly observed: ObservedChild }
  | { readonly verb: 'leave'; readonly kind: Kind; readonly name: string }
  | { readonly verb: 'wait'; readonly kind: Kind; readonly observed: ObservedChild };

interface Written {
  readonly kind: Kind;
  readonly desired: KubernetesObject;
  /** Of this object, which is not always what is wanted in the end. */
  readonly fingerprint: string;
}

export interface Seen {
  child(kind: Kind): ObservedChild | undefined;
  readonly pods: readonly ObservedPod[];
  /** Whether the cluster knows the kind. */
  isServed(kind: Kind): boolean;
  /** Whether the server is known to store the wanted object with another fingerprint. */
  isKnownRewrite(uid: string, wanted: string, observed: string): boolean;
}

/**
 * One step for each child that is not as it should be; none when all is well. What has to go goes first, above all an autoscaler,
 * which would contradict us; the rest comes in the order of the table. Children of the kept kinds stay as they are.
 * Whoever knows the fingerprints already saves much: then only what differs has to be built.
 */
export function difference(
  memcached: DefaultedMemcached,
  surroundings: Surroundings,
  seen: Seen,
  options: DifferenceOptions = {},
): Step[] {
  const {
    kept = [],
    build = builderFor(memcached, surroundings),
    fingerprints = fingerprintsOf(build, kept),
  } = options;
  const steps = children
    .filter(({ kind, needsCrd }) => (!needsCrd || seen.isServed(kind)) && !kept.includes(kind))
    .flatMap((child) => stepsFor(child, { memcached, surroundings, seen, build }, fingerprints.get(child.kind)));
  return steps.toSorted((a, b) => Number(b.verb === 'delete') - Number(a.verb === 'delete'));
}

interface DifferenceOptions {
  readonly kept?: readonly Kind[];
  readonly fingerprints?: Fingerprints;
  readonly build?: Builder;
}

/** What a step follows from besides the child itself. */
interface Circumstances {
  readonly memcached: DefaultedMemcached;
  readonly surroundings: Surroundings;
  readonly seen: Seen;
  readonly build: Builder;
}

/** What another Memcached has left under the name makes room first. */
function stepsFor(child: Child, by: Circumstances, wanted: string | undefined): Step[] {
  const { kind } = child;
  const observed = by.seen.child(kind);
  const leftover = observed && isLeftover(observed, by.memcached) ? observed : undefined;
  const step = stepFor(child, by, wanted, leftover ? undefined : observed);
  return [...(leftover ? [{ verb: 'delete', kind, observed: leftover } as const] : []), ...(step ? [step] : [])];
}

function stepFor(
  child: Child,
  { memcached, surroundings, seen, build }: Circumstances,
  wanted: string | undefined,
  observed: ObservedChild | undefined,
): Step | undefined {
  const { kind } = child;
  const { uid = '', name = '' } = observed?.metadata ?? {};
  const isOurs = observed?.ownerUid === memcached.metadata.uid;
  if (wanted === undefined)
    return observed && isOurs && !observed.isDeleting ? { verb: 'delete', kind, observed } : undefined;
  if (observed && !isOurs) return { verb: 'leave', kind, name };
  if (observed?.isDeleting) return { verb: 'wait', kind, observed }; // it is made anew when it is gone
  if (observed?.fingerprint === wanted || (observed && seen.isKnownRewrite(uid, wanted, observed.fingerprint)))
    return undefined;
  const desired = build(child);
  if (!desired) return undefined;
  if (!observed) return creation(kind, desired, wanted, memcached);
  if (kind !== deploymentKind) return { verb: 'update', kind, desired, fingerprint: wanted, uid };
  const passed = handOver(desired, observed.deployment, memcached);
  const marks = farewells(desired, observed.deployment, seen.pods, surroundings.servers ?? []);
  return {
    verb: 'update',
    kind,
    desired,
    fingerprint: wanted,
    uid,
    farewells: marks,
    ...(passed && { handOver: passed }),
    ...(keepsReplicas(desired as Deployment, observed) && { isRollout: true }),
  };
}

/** Neither their number nor who decides it changes: then it is about the servers themselves, and almost everything about them replaces them. */
function keepsReplicas({ spec: { replicas } }: Deployment, { deployment }: ObservedChild): boolean {
  return deployment?.ownsReplicas === (replicas !== undefined) && (replicas ?? deployment.wanted) === deployment.wanted;
}

function creation(kind: Kind, desired: KubernetesObject, wanted: string, memcached: DefaultedMemcached): Step {
  const first = withFirstReplicas(desired, memcached);
  const fingerprint = first === desired ? wanted : wantedFingerprint(first);
  return { verb: 'create', kind, desired: first, fingerprint };
}
