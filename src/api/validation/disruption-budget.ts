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

/** The percentages that mean the same with any number of servers. */
export const budgetCanBeMet: Check = ({ spec }) => {
  const { enabled, minAvailable, maxUnavailable } = spec.highAvailability.podDisruptionBudget;
  if (!enabled) return [];
  if (minAvailable === '100%')
    return [invalid(`${field}.minAvailable`, minAvailable, 'minAvailable (100%) must be less than all replicas')];
  if (maxUnavailable === '0%')
    return [
      invalid(`${field}.maxUnavailable`, maxUnavailable, 'maxUnavailable (0%) must allow for at least one replica'),
    ];
  return [];
};

const DRAIN = 'no node that has one can be drained';

export const noServerMayLeave: Warning = ({ spec }) => {
  const { enabled, minAvailable, maxUnavailable } = spec.highAvailability.podDisruptionBudget;
  if (!enabled) return undefined;
  if (maxUnavailable === 0)
    return `${field}.maxUnavailable: no server may ever be evicted, so that ${DRAIN}; set it to 1 or more`;
  const { replicas = 0 } = spec;
  const staying = Math.ceil((Number.parseInt(String(minAvailable), 10) / 100) * replicas);
  if (typeof minAvailable !== 'string' || replicas < 2 || staying < replicas) return undefined;
  return `${field}.minAvailable: ${minAvailable} of ${replicas} servers, rounded up, are all of them, so that ${DRAIN}; set it to ${replicas - 1}`;
};

export const budgetIsForOneServer: Warning = ({ spec }) => {
  const { enabled } = spec.highAvailability.podDisruptionBudget;
  if (!enabled || spec.replicas !== 1) return undefined;
  return `${field}: with one server it either protects nothing or keeps its node from being drained; set spec.replicas to 2 or more, or disable the budget`;
};

export const scalingMeetsBudget: Warning = ({ spec }) => {
  const { enabled, minAvailable } = spec.highAvailability.podDisruptionBudget;
  const { enabled: isScaling, minReplicas = 1 } = spec.autoscaling;
  if (!enabled || !isScaling || typeof minAvailable !== 'number' || minAvailable < minReplicas) return undefined;
  return `${field}.minAvailable: while there are no more than ${minAvailable} servers (autoscaling may go down to ${minReplicas}), ${DRAIN}; set spec.autoscaling.minReplicas to ${minAvailable + 1} or more`;
};
