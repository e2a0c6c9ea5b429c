/** Waits until the operator's Deployment is as it should be, and tells what keeps it from that. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../devcluster/problem.ts';
import type { DeploymentManifest } from './manifests.ts';
import type { Target } from './target.ts';

const PATIENCE_MS = 180_000;
const LOG_LINES = 5;
const LINE_LENGTH = 400;
/** After so many restarts it will not help to wait. */
const RESTARTS = 2;

interface Deployment {
  readonly metadata: { readonly generation: number };
  readonly spec: { readonly replicas: number };
  readonly status: {
    readonly observedGeneration?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
    readonly unavailableReplicas?: number;
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
  };
}

export interface Pod {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly status: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
    readonly containerStatuses?: readonly {
      readonly ready: boolean;
      readonly restartCount: number;
      readonly state: { readonly waiting?: { readonly reason?: string; readonly message?: string } };
    }[];
  };
}

export interface Trouble {
  readonly pod?: string;
  readonly text: string;
  /** Whether waiting cannot help. */
  readonly isFinal: boolean;
}

export interface RolloutOptions {
  readonly target: Target;
  readonly deployment: DeploymentManifest;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Resolves when every replica is new and available. */
export async function untilRolledOut(options: RolloutOptions): Promise<void> {
  const { say, signal } = options;
  const since = performance.now();
  for (let said = ''; ; await sleep(500, undefined, { signal })) {
    const { deployment, pods } = await look(options);
    const { status, spec, metadata } = deployment;
    const isSeen = status.observedGeneration === metadata.generation;
    const { updatedReplicas: updated = 0, availableReplicas: available = 0, unavailableReplicas: missing = 0 } = status;
    const ready = isSeen ? Math.min(updated, available) : 0;
    const trouble = troubleOf(deployment, pods);
    const state = `  ${ready} of ${spec.replicas} replicas are ready${trouble ? `; ${trouble.text}` : ''}`;
    if (state !== said) say(state);
    said = state;
    if (ready >= spec.replicas && missing === 0) return;
    const isTooLate = performance.now() - since > PATIENCE_MS;
    if (trouble?.isFinal || isTooLate) throw await failure(options, trouble ?? unready(pods));
  }
}

async function look({ target, deployment }: RolloutOptions): Promise<{ deployment: Deployment; pods: Pod[] }> {
  const selector = Object.entries(deployment.spec.selector.matchLabels).map(([key, value]) => `${key}=${value}`);
  const [seen, pods] = await Promise.all([
    target.kubectl(['get', 'deployment', ...namesOf(deployment), '-o', 'json']),
    target.kubectl(['get', 'pods', ...inNamespaceOf(deployment), '-l', selector.join(','), '-o', 'json']),
  ]);
  return { deployment: JSON.parse(seen) as Deployment, pods: (JSON.parse(pods) as { items: Pod[] }).items };
}

function namesOf(deployment: DeploymentManifest): string[] {
  return [deployment.metadata.name, ...inNamespaceOf(deployment)];
}

function inNamespaceOf({ metadata }: DeploymentManifest): string[] {
  return ['--namespace', metadata.namespace ?? 'default'];
}

/** What keeps the Deployment from getting on, as far as it can be seen. */
export function troubleOf(deployment: Pick<Deployment, 'status'>, pods: readonly Pod[]): Trouble | undefined {
  const refused = deployment.status.conditions?.find(
    ({ type, status }) => type === 'ReplicaFailure' && status === 'True',
  );
  if (refused) return { text: `pods cannot be created: ${refused.message ?? 'no reason given'}`, isFinal: true };
  for (const { metadata, status } of pods) {
    if (metadata.deletionTimestamp !== undefined) continue;
    const pod = metadata.name;
    const unscheduled = status.conditions?.find(({ reason }) => reason === 'Unschedulable');
    if (unscheduled) return { pod, text: `no node takes ${pod}: ${unscheduled.message ?? ''}`, isFinal: false };
    for (const { state, restartCount, ready } of status.containerStatuses ?? []) {
      const { reason, message = '' } = state.waiting ?? {};
      if (ready || reason === 'ContainerCreating' || reason === 'PodInitializing') continue;
      if (reason === undefined && restartCount === 0) continue;
      const isFinal = reason === 'CrashLoopBackOff' ? restartCount >= RESTARTS : HOPELESS.has(reason ?? '');
      return { pod, text: `${pod}: ${reason ?? `restarted ${restartCount} times`} ${message}`.trimEnd(), isFinal };
    }
  }
  return undefined;
}

const HOPELESS = new Set([
  'ImagePullBackOff',
  'InvalidImageName',
  'CreateContainerConfigError',
  'CreateContainerError',
]);

/** What to show when time is up and nothing else is known. */
function unready(pods: readonly Pod[]): Trouble {
  const pod = pods.find(({ status }) => !status.containerStatuses?.every(({ ready }) => ready))?.metadata.name;
  const text = `not all replicas were ready after ${PATIENCE_MS / 1000} s`;
  return { ...(pod !== undefined && { pod }), text, isFinal: true };
}

async function failure({ target, deployment }: RolloutOptions, { pod, text }: Trouble): Promise<Problem> {
  const words = pod === undefined ? '' : await lastWords(target, deployment, pod);
  const command = `kubectl ${inNamespaceOf(deployment).join(' ')} describe ${pod === undefined ? 'deployment' : `pod ${pod}`}`;
  const remedy = /ImagePull|InvalidImageName/.test(text)
    ? 'See that the cluster can pull the image, or name another one: IMG=registry/name:tag.'
    : `See \`${command}\`, then run the same command again.`;
  return new Problem(`The operator did not get ready: ${text}${words}`, remedy);
}

async function lastWords(target: Target, deployment: DeploymentManifest, pod: string): Promise<string> {
  for (const which of [['--previous'], []]) {
    const args = ['logs', pod, ...inNamespaceOf(deployment), `--tail=${LOG_LINES}`, ...which];
    const said = await target.kubectl(args).catch(() => '');
    if (said !== '') return `\nThe last words of ${pod}:\n${shortened(said)}`;
  }
  return '';
}

/** A line of the log can have a whole stack in it. */
function shortened(lines: string): string {
  const cut = (line: string) => (line.length > LINE_LENGTH ? `${line.slice(0, LINE_LENGTH)}…` : line);
  return lines.trimEnd().split('\n').map(cut).join('\n');
}
