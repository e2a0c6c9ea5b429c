/** What a Lease says of its holder, written as all Kubernetes components write it. */
import type { Lease, LeaseSpec } from '../../kubernetes/lease.ts';
import type { Kind } from '../../kubernetes/object.ts';
import { microTime } from '../micro-time.ts';

export const leaseKind: Kind = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
};

/** How long the others leave a leader alone that is not heard of. */
export const LEASE_SECONDS = 15;

/** Empty when it is nobody's. */
export function holderOf(lease: Lease | undefined): string {
  return lease?.spec?.holderIdentity ?? '';
}

/** For how long after it was renewed it is its holder's, whatever becomes of him. */
export function durationMs({ spec }: Lease): number {
  return 1000 * (spec?.leaseDurationSeconds ?? LEASE_SECONDS);
}

/** The record of one who takes it, or has it already. */
export function held(lease: Lease | undefined, identity: string, now: Date): LeaseSpec {
  const time = microTime(now);
  const { holderIdentity, acquireTime = time, leaseTransitions = 0 } = lease?.spec ?? {};
  const isKept = holderIdentity === identity;
  return {
    holderIdentity: identity,
    leaseDurationSeconds: LEASE_SECONDS,
    acquireTime: isKept ? acquireTime : time,
    renewTime: time,
    leaseTransitions: !lease || isKept ? leaseTransitions : leaseTransitions + 1,
  };
}

/** The record of nobody. Those who look at the times alone need not wait for long either. */
export function released({ spec }: Lease, now: Date): LeaseSpec {
  const time = microTime(now);
  const { leaseTransitions = 0 } = spec ?? {};
  return { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: time, renewTime: time, leaseTransitions };
}
