/** What the status is computed from: everything that is known about one Memcached, and nothing else. */

export interface Observation {
  /** metadata.generation of the Memcached. */
  readonly generation: number;
  /** How many servers are wanted. */
  readonly replicas: number;
  readonly isPaused: boolean;
  /** Whether the children were, in the end, as the spec wants them. */
  readonly isCarriedOut: boolean;
  /** What is wrong, most serious first. */
  readonly faults: readonly Fault[];
  readonly deployment?: DeploymentObservation;
  readonly pods: readonly PodObservation[];
  /** What the servers tell of themselves; absent before the first of them was asked. */
  readonly statistics?: Statistics;
  /** What does not keep it from being ready, but should be known. */
  readonly remarks?: readonly Remark[];
}

export interface Statistics {
  readonly currentConnections: number;
  /** With two decimals. */
  readonly hitRatio: string;
  /** What runs: several while a rollout is under way; nothing while no server tells. */
  readonly memcachedVersion?: string;
}

export interface Remark {
  readonly reason: 'MetricsUnavailable';
  readonly message: string;
}

/** The reasons for Degraded that do not come from the Deployment, in the order in which they win. */
export const FAULTS = [
  'InvalidSpec',
  'ResourceConflict',
  'SecretNotFound',
  'SecretInvalid',
  'AuthNotEnforced',
  'ApplyFailed',
] as const;

export interface Fault {
  readonly reason: (typeof FAULTS)[number];
  readonly message: string;
}

/** What a Deployment says of itself. */
export interface DeploymentObservation {
  readonly generation: number;
  readonly observedGeneration: number;
  /** spec.replicas. */
  readonly wanted: number;
  readonly total: number;
  readonly updated: number;
  readonly ready: number;
  readonly available: number;
  readonly isAvailable: boolean;
  readonly deadlineExceeded: boolean;
  /** Why the Deployment cannot create pods at all, e.g. a quota. */
  readonly replicaFailure?: string;
}

export interface PodObservation {
  readonly name: string;
  /** Why it does not serve. */
  readonly problem?: string;
  /** Whether that is because no node takes it. */
  readonly lacksRoom: boolean;
  /** Whether it is on its way out, and makes room for another. */
  readonly isLeaving: boolean;
}
