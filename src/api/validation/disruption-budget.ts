/** A PodDisruptionBudget must say one thing, and leave room for a node to be drained. */
import { type Check, invalid, required, type Warning } from './field-error.ts';

const field = 'spec.highAvailability.podDisruptionBudget';

export const budgetSaysOneThing: Check = ({ spec }) => {
  const { enabled, minAvailable, maxUnavailable } = spec.highAvailability.podDisruptionBudget;
  if (!enabled) return [];
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    return [invalid(field, '', 'minAvailable and maxUnavailable are mutually exclusive, specify only one')];
  }
  if (minAvailable === undefined && maxUnavailable === undefined) {
    return [required(field, 'one of minAvailable or maxUnavailable must be set when PDB is enabled')];
  }
  return [];
};

/** A percentage cannot be compared; without servers, or with a number that changes, there is nothing to compare with. */
export const budgetLeavesRoom: Check = ({ spec }) => {
  const { enabled, minAvailable } = spec.highAvailability.podDisruptionBudget;
  const { replicas } = spec;
  if (!enabled || typeof minAvailable !== 'number' || !replicas || minAvailable < replicas) return [];
  const detail = `minAvailable (${minAvailable}) must be less than replicas (${replicas})`;
  return [invalid(`${field}.minAvailable`, minAvailable, detail)];
};

export const noServerMayLeave: Warning = ({ spec }) => {
  const { enabled, minAvailable, maxUnavailable } = spec.highAvailability.podDisruptionBudget;
  const isStrict = maxUnavailable === 0 || maxUnavailable === '0%' || minAvailable === '100%';
  if (!enabled || !isStrict) return undefined;
  return `${field}: no server may ever be evicted, so that no node that has one can be drained`;
};

export const scalingMeetsBudget: Warning = ({ spec }) => {
  const { enabled, minAvailable } = spec.highAvailability.podDisruptionBudget;
  const { enabled: isScaling, minReplicas = 1 } = spec.autoscaling;
  if (!enabled || !isScaling || typeof minAvailable !== 'number' || minAvailable < minReplicas) return undefined;
  return `${field}.minAvailable: while there are no more than ${minAvailable} servers (autoscaling may go down to ${minReplicas}), no node that has one can be drained`;
};
