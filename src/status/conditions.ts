/** The four conditions of a Memcached. Where several reasons apply, the most telling one wins. */
import type { Condition } from '../kubernetes/object.ts';
import { type DeploymentObservation, FAULTS, type Observation } from './observation.ts';

/** A condition before it is known whether it is news. */
type Verdict = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** The API takes eight times as much, and nobody reads it: an error may quote hundreds of values. */
const LONGEST_MESSAGE = 4096;

/** The conditions that follow from the observation; transition times move only where a status does. */
export function conditionsOf(seen: Observation, previous: readonly Condition[], now: string): Condition[] {
  const degraded = shortened(degradedVerdict(seen));
  const verdicts = [availableVerdict(seen), progressingVerdict(seen), degraded, readyVerdict(seen, degraded)];
  return verdicts.map((verdict) => {
    const before = previous.find(({ type }) => type === verdict.type);
    const lastTransitionTime = before?.status === verdict.status ? before.lastTransitionTime : now;
    return { ...verdict, lastTransitionTime, observedGeneration: seen.generation };
  });
}

function availableVerdict({ replicas, deployment }: Observation): Verdict {
  const type = 'Available';
  if (replicas === 0) return no(type, 'ScaledToZero', 'No servers are wanted: spec.replicas is 0');
  if (deployment?.isAvailable) return yes(type, 'DeploymentAvailable', 'Deployment has minimum availability');
  return no(
    type,
    'DeploymentUnavailable',
    `Deployment does not have minimum availability: ${readyCount(deployment, replicas)}`,
  );
}

function progressingVerdict(seen: Observation): Verdict {
  const type = 'Progressing';
  if (seen.isPaused)
    return no(type, 'Paused', 'Changes are not carried out while the annotation memcached.c5c3.io/paused is "true"');
  if (seen.deployment?.deadlineExceeded) {
    return no(
      type,
      'ProgressDeadlineExceeded',
      `Deployment has made no progress for too long: ${readyCount(seen.deployment, seen.replicas)}`,
    );
  }
  if (isComplete(seen)) return no(type, 'DeploymentComplete', 'Deployment has completed');
  const { updated = 0 } = seen.deployment ?? {};
  return yes(
    type,
    'DeploymentProgressing',
    `${updated} of ${seen.replicas} replicas are up to date, ${readyCount(seen.deployment, seen.replicas)}`,
  );
}

function degradedVerdict(seen: Observation): Verdict {
  const type = 'Degraded';
  for (const reason of FAULTS) {
    const messages = seen.faults.filter((fault) => fault.reason === reason).map(({ message }) => message);
    if (messages.length > 0) return yes(type, reason, messages.join('; '));
  }
  const state = `${readyCount(seen.deployment, seen.replicas)}${causes(seen)}`;
  const isShort = (seen.deployment?.ready ?? 0) < seen.replicas;
  if (seen.deployment?.deadlineExceeded || (!isShort && !isComplete(seen) && hasProblem(seen))) {
    return yes(type, 'RolloutStuck', `The rollout is stuck: ${state}`);
  }
  if (isShort) return yes(type, 'ReplicasNotReady', capitalised(state));
  return no(type, 'AllReplicasReady', 'All replicas are ready');
}

function readyVerdict(seen: Observation, degraded: Verdict): Verdict {
  const type = 'Ready';
  const remarks = (seen.remarks ?? []).map(({ message }) => `. ${message}`).join('');
  if (degraded.status === 'True') return no(type, degraded.reason, `${degraded.message}${remarks}`);
  if (isComplete(seen)) return yes(type, 'AllReplicasReady', `All replicas are ready and up to date${remarks}`);
  const { reason, message } = progressingVerdict(seen);
  return no(type, reason, `${message}${remarks}`);
}

/** Whether everything that the spec asks for has happened. */
function isComplete({ isCarriedOut, deployment, replicas }: Observation): boolean {
  if (!isCarriedOut || !deployment) return false;
  const { generation, observedGeneration, total, updated, available, wanted } = deployment;
  const counts = [wanted, total, updated, available];
  return observedGeneration >= generation && counts.every((count) => count === replicas);
}

/** A new pod that cannot serve holds up the rollout, however well the old ones do. */
function hasProblem(seen: Observation): boolean {
  return problems(seen).length > 0;
}

/** Why pods do not serve. One for which there is no room merely waits while another makes room. */
function problems({ pods }: Observation): { readonly name: string; readonly problem: string }[] {
  const isRoomMade = pods.some(({ isLeaving }) => isLeaving);
  return pods.flatMap(({ name, problem, lacksRoom }) =>
    problem === undefined || (lacksRoom && isRoomMade) ? [] : [{ name, problem }],
  );
}

function causes(seen: Observation): string {
  const { deployment } = seen;
  const [first, ...others] = problems(seen);
  if (!first) return deployment?.replicaFailure === undefined ? '' : refusal(deployment.replicaFailure);
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  return `. Pod ${first.name}: ${first.problem}${more}`;
}

/** The server's own words: a quota, or a policy of the namespace. */
function refusal(words: string): string {
  return `. No pod can be created: ${words}. See to it that the namespace takes more, or lower spec.replicas`;
}

function readyCount(deployment: DeploymentObservation | undefined, replicas: number): string {
  return `${deployment?.ready ?? 0} of ${replicas} replicas are ready`;
}

function shortened(verdict: Verdict): Verdict {
  const { message } = verdict;
  if (message.length <= LONGEST_MESSAGE) return verdict;
  return { ...verdict, message: `${message.slice(0, LONGEST_MESSAGE - 1).toWellFormed()}…` };
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function yes(type: string, reason: string, message: string): Verdict {
  return { type, status: 'True', reason, message };
}

function no(type: string, reason: string, message: string): Verdict {
  return { type, status: 'False', reason, message };
}
