/** One Memcached, from what is there to what should be there. */
import { annotation, type Memcached, type MemcachedStatus } from '../api/index.ts';
import { autoscalerKind } from '../children/autoscaler.ts';
import { deploymentKind } from '../children/index.ts';
import type { Client } from '../runtime/client/index.ts';
import type { ReconcileContext, Result } from '../runtime/controller.ts';
import type { Observation } from '../status/observation.ts';
import { applyStep, type Outcome } from './application.ts';
import type { Step } from './difference.ts';
import type { RecordEvent } from './events.ts';
import { deeds, news, troubles } from './happenings.ts';
import type { Pace } from './pace.ts';
import { followsPods, type Plan, type Planner, planFor } from './plan.ts';
import { settlement } from './replicas.ts';
import { isDetail, isReady, isWorse, NOT_READY_MS, patienceMs, report, settle, statusOf } from './report.ts';
import { breachesIn } from './statistics/breaches.ts';
import type { Gatherer } from './statistics/gatherer.ts';
import { summaryOf } from './statistics/summary.ts';

/** How soon to look again after something was written, should the watch be late. */
const ECHO_MS = 1000;

export interface Reconciler extends Planner {
  readonly client: Client;
  readonly recordEvent: RecordEvent;
  readonly statistics: Pick<Gatherer, 'answersOf'>;
  /** In which the details of statuses are told. */
  readonly pace: Pace;
}

export async function reconcile(key: string, by: Reconciler, context: ReconcileContext): Promise<Result | void> {
  const { signal, priority, othersWait } = context;
  const memcached = by.world.memcached(key);
  if (!memcached || memcached.metadata.deletionTimestamp) return; // garbage collection removes the children
  if (await settleReplicas(key, memcached, by, signal)) return { requeueAfterMs: ECHO_MS };

  const plan = await planFor(key, memcached, by, signal);
  // New servers for many at once would keep everybody else waiting: they take turns, and what else has to be changed waits with them.
  const isPutOff = priority !== 'burden' && !isPaused(memcached) && plan.steps.some(isRollout);
  const goesOn = ({ kind, verb }: Step) =>
    followsPods(kind) || !(isPaused(memcached) || (isPutOff && verb === 'update'));
  const outcomes = await applyAll(key, plan.steps.filter(goesOn), memcached, by, signal);

  for (const deed of deeds(outcomes)) by.recordEvent(memcached, deed);
  // What was written comes back by the watch and is reported then: the children of all come before the status of one.
  const isReportedLater = outcomes.every(isCreation) || (othersWait() && outcomes.every(({ isWritten }) => isWritten));
  if (!isPutOff && outcomes.length > 0 && isReportedLater) return { requeueAfterMs: ECHO_MS };

  const seen = observe(key, memcached, by, plan, outcomes);
  const status = statusOf(memcached, seen, by.now());
  if (isPutOff) {
    if (isWorse(memcached.status, status)) await tell(key, memcached, status, plan, by, signal);
    return { isBurden: true };
  }
  const error = plan.error ?? outcomes.find((outcome) => outcome.error)?.error;
  // In a rollout numbers change all the time: they can wait a little, for those that come next.
  const waitMs = error || !isDetail(memcached.status, status) ? 0 : by.pace.waitMs(key);
  if (waitMs > 0) return { requeueAfterMs: waitMs };
  await tell(key, memcached, status, plan, by, signal);

  if (error) throw error; // tried again, later and later
  return nextLook({ ...memcached, status }, outcomes, plan, by.now());
}

/** The status, and events about what is new in it. */
async function tell(
  key: string,
  memcached: Memcached,
  status: MemcachedStatus,
  { remarks }: Plan,
  by: Reconciler,
  signal: AbortSignal,
): Promise<void> {
  for (const trouble of troubles(memcached, status)) by.recordEvent(memcached, trouble);
  for (const remark of news(memcached, remarks)) by.recordEvent(memcached, remark);
  await by.world.writeMemcached(key, async () => {
    const written = await report(memcached, status, by.client, signal);
    if (written) by.pace.spoken(key);
    return written;
  });
}

/** Says whether that was needed: then there is a new spec to carry out. */
async function settleReplicas(
  key: string,
  memcached: Memcached,
  by: Reconciler,
  signal: AbortSignal,
): Promise<boolean> {
  const { uid } = memcached.metadata;
  const [deployment, autoscaler] = [deploymentKind, autoscalerKind].map((kind) => by.world.child(kind, key));
  const ours = deployment?.ownerUid === uid ? deployment?.deployment : undefined;
  const change = isPaused(memcached) ? undefined : settlement(memcached, ours, autoscaler?.ownerUid === uid);
  if (change) await by.world.writeMemcached(key, () => settle(memcached, change, by.client, signal));
  return change !== undefined;
}

/** One after another, in their order: what others need comes first. */
async function applyAll(
  key: string,
  steps: readonly Step[],
  memcached: Memcached,
  { world, client }: Reconciler,
  signal: AbortSignal,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const step of steps) {
    // While an autoscaler is still there, to set the replicas would be a quarrel.
    if (step.kind === deploymentKind && outcomes.some(hasKeptAutoscaler)) continue;
    const write = async () => {
      const { object, ...outcome } = await applyStep(step, memcached, client, signal);
      outcomes.push(object ? { ...outcome, isWritten: true } : outcome);
      return object;
    };
    if ('desired' in step) await world.writeChild(step.kind, key, step.fingerprint, write);
    else await write();
  }
  return outcomes;
}

function hasKeptAutoscaler({ step, fault }: Outcome): boolean {
  return step.kind === autoscalerKind && step.verb === 'delete' && fault !== undefined;
}

/** What the cluster shows of the Memcached, after what was just written. */
function observe(
  key: string,
  memcached: Memcached,
  { world, statistics }: Reconciler,
  { wanted, steps, isWhole, faults, remarks }: Plan,
  outcomes: readonly Outcome[],
): Observation {
  const answers = statistics.answersOf(key);
  const child = world.child(deploymentKind, key);
  const deployment = child?.ownerUid === memcached.metadata.uid ? child?.deployment : undefined;
  return {
    generation: memcached.metadata.generation ?? 0,
    replicas: wanted?.spec.replicas ?? deployment?.wanted ?? 0, // without a wish of ours, what others decided
    isPaused: isPaused(memcached),
    isCarriedOut: isWhole && outcomes.filter(isDone).length === steps.length,
    faults: [...faults, ...breachesIn(answers ?? []), ...outcomes.flatMap(({ fault }) => fault ?? [])],
    remarks,
    ...(deployment && { deployment }),
    ...(answers && { statistics: summaryOf(answers.map(({ figures }) => figures)) }),
    pods: world.podsOf(key).map(({ observation }) => observation),
  };
}

/** When to look again although nothing has changed; nothing if that is not needed. */
function nextLook(
  memcached: Memcached & { readonly status: MemcachedStatus },
  outcomes: readonly Outcome[],
  { changesAt }: Plan,
  now: Date,
): Result | undefined {
  const isHindered = outcomes.some(({ fault }) => fault !== undefined); // by what no watch may tell of
  const waitMs = isHindered ? NOT_READY_MS.soonest : patienceMs(memcached, now);
  const times = [
    ...(outcomes.some(({ isMoot }) => isMoot) ? [ECHO_MS] : []),
    ...(isReady(memcached.status) ? [] : [waitMs]),
    ...(changesAt === undefined ? [] : [Math.max(0, changesAt - now.getTime())]),
  ];
  return times.length === 0 ? undefined : { requeueAfterMs: Math.min(...times) };
}

function isDone({ step, fault }: Outcome): boolean {
  return !fault && step.verb !== 'wait';
}

function isRollout(step: Step): boolean {
  return step.verb === 'update' && step.isRollout === true;
}

function isCreation({ step, isWritten }: Outcome): boolean {
  return step.verb === 'create' && isWritten === true;
}

function isPaused({ metadata }: Memcached): boolean {
  return metadata.annotations?.[annotation.paused] === 'true';
}
