/** What one of several has and the others wait for. */
import type { KubernetesObject } from './object.ts';

export interface Lease extends KubernetesObject {
  readonly spec?: LeaseSpec;
}

/** Times are the holder's own, and with microseconds. */
export interface LeaseSpec {
  /** Nobody, when it is empty. */
  readonly holderIdentity?: string;
  /** For how long nobody else may take it after a renewal. */
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  /** How often it has changed hands. */
  readonly leaseTransitions?: number;
}
