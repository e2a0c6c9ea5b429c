/** Why a pod does not serve, in words for whoever has to repair it. */
import type { ContainerState, ContainerStatus, Pod } from '../kubernetes/pod.ts';
import { memoryProblem } from './memory-problem.ts';

/** The cause and what to do about it; nothing for a pod that serves, or that just needs a moment. */
export function podProblem(pod: Pod): string | undefined {
  if (isReady(pod) || pod.metadata.deletionTimestamp !== undefined) return undefined;
  return (
    unschedulable(pod) ??
    failed(pod) ??
    firstOf(pod.status?.containerStatuses ?? [], (status) => containerProblem(status, pod))
  );
}

export function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

export function lacksRoom(pod: Pod): boolean {
  return placement(pod)?.reason === 'Unschedulable';
}

function placement(pod: Pod) {
  return pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
}

function unschedulable(pod: Pod): string | undefined {
  if (!lacksRoom(pod)) return undefined;
  const scheduled = placement(pod);
  return `no node takes it (${brief(scheduled?.message)}): add a node, lower spec.resources.requests, or relax what ties it to nodes`;
}

function failed(pod: Pod): string | undefined {
  if (pod.status?.phase !== 'Failed') return undefined;
  return `it failed (${brief([pod.status.reason, pod.status.message].filter(Boolean).join(': '))}): see \`kubectl describe pod ${pod.metadata.name}\``;
}

function containerProblem(status: ContainerStatus, { spec }: Pod): string | undefined {
  const { state = {}, lastState = {}, name, image } = status;
  const reason = state.waiting?.reason;
  if (reason !== undefined && CANNOT_PULL.has(reason)) {
    return `image "${image}" cannot be pulled (${reason}: ${brief(state.waiting?.message)}): check the image's name and spec.imagePullSecrets`;
  }
  const end = state.terminated ?? lastState.terminated;
  if (end?.reason === 'OOMKilled')
    return memoryProblem(spec.containers?.find((container) => container.name === name) ?? { name });
  if (end)
    return `${name} ended with exit code ${end.exitCode}${lastWords(end)}: check spec.memcached and its extraArgs`;
  if (reason === undefined || reason === 'ContainerCreating' || reason === 'PodInitializing') return undefined;
  return `${name} cannot be started (${reason}: ${brief(state.waiting?.message)})`;
}

const CANNOT_PULL = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'RegistryUnavailable',
]);

function lastWords({ message }: NonNullable<ContainerState['terminated']>): string {
  return message ? `, saying "${brief(message.trim().split('\n').at(-1))}"` : '';
}

/** Long enough to tell what is wrong, short enough for a condition. The cause often stands at the end. */
function brief(text = 'no reason given'): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > 240 ? `${line.slice(0, 80)} … ${line.slice(-150)}`.toWellFormed() : line;
}

function firstOf<Item, Found>(items: readonly Item[], find: (item: Item) => Found | undefined): Found | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
