/** One Memcached, from what is there to what should be there. */
import {
  annotation,
  type DefaultOptions,
  type Memcached,
  type MemcachedStatus,
  validate,
  withDefaults,
} from '../api/index.ts';
import { deploymentKind } from '../children/index.ts';
import type { Client } from '../runtime/client/index.ts';
import type { ReconcileContext, Result } from '../runtime/controller.ts';
import type { Fault, Observation } from '../status/observation.ts';
import { applyStep, type Outcome } from './application.ts';
import { difference, type Step } from './difference.ts';
import type { RecordEvent } from './events.ts';
import { deeds, troubles } from './happenings.ts';
import { report, statusOf } from './report.ts';
import type { World } from './world.ts';

/** How soon to look again at a Memcached that is not ready, should no change tell us to. */
const NOT_READY_MS = 10_000;

/** How soon to look again after a creation, should the watch be late. */
const ECHO_MS = 1000;

export interface Reconciler {
  readonly world: World;
  readonly client: Client;
  readonly recordEvent: RecordEvent;
  readonly defaults: DefaultOptions;
  readonly now: () => Date;
}

export async function reconcile(key: string, by: Reconciler, { signal }: ReconcileContext): Promise<Result | void> {
  const memcached = by.world.memcached(key);
  if (!memcached || memcached.metadata.deletionTimestamp) return; // garbage collection removes the children

  const invalid = invalidities(memcached);
  const wanted = invalid.length > 0 ? undefined : withDefaults(memcached, by.defaults);
  const steps = wanted ? difference(wanted, {}, by.world.seen(key)) : [];
  const outcomes = isPaused(memcached) ? [] : await applyAll(key, steps, memcached, by, signal);

  for (const deed of deeds(outcomes)) by.recordEvent(memcached, deed);
  // What was created comes back by the watch and is reported then: the children of all come before the status of one.
  if (outcomes.length > 0 && outcomes.every(isCreation)) return { requeueAfterMs: ECHO_MS };

  const seen = {
    ...observe(key, memcached, by.world, wanted?.spec.replicas),
    faults: [...invalid, ...outcomes.flatMap(({ fault }) => fault ?? [])],
    isCarriedOut: wanted !== undefined && outcomes.filter(({ fault }) => !fault).length === steps.length,
  };
  const status = statusOf(memcached, seen, by.now());
  for (const trouble of troubles(memcached, status)) by.recordEvent(memcached, trouble);
  await by.world.writeMemcached(key, () => report(memcached, status, by.client, signal));

  for (const { error } of outcomes) if (error !== undefined) throw error; // tried again, later and later
  return isReady(status) ? undefined : { requeueAfterMs: NOT_READY_MS };
}

/** One after another, in the order of the table: what others need comes first. */
async function applyAll(
  key: string,
  steps: readonly Step[],
  { metadata: { uid = '' } }: Memcached,
  { world, client }: Reconciler,
  signal: AbortSignal,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const step of steps) {
    const write = async () => {
      const outcome = await applyStep(step, uid, client, signal);
      outcomes.push(outcome);
      return outcome.object;
    };
    if ('desired' in step) await world.writeChild(step.kind, key, step.desired, write);
    else await write();
  }
  return outcomes;
}

/** What the cluster shows of the Memcached, after what was just written. */
function observe(
  key: string,
  memcached: Memcached,
  world: World,
  replicas: number | undefined,
): Omit<Observation, 'faults' | 'isCarriedOut'> {
  const child = world.child(deploymentKind, key);
  const deployment = child?.ownerUid === memcached.metadata.uid ? child?.deployment : undefined;
  return {
    generation: memcached.metadata.generation ?? 0,
    replicas: replicas ?? deployment?.wanted ?? 0, // without a wish of ours, what others decided
    isPaused: isPaused(memcached),
    ...(deployment && { deployment }),
    pods: world
      .podsOf(key)
      .map(({ metadata: { name }, problem }) => ({ name, ...(problem !== undefined && { problem }) })),
  };
}

function isCreation({ step, fault }: Outcome): boolean {
  return step.verb === 'create' && !fault;
}

function invalidities(memcached: Memcached): Fault[] {
  return validate(memcached).map(({ field, message }) => ({
    reason: 'InvalidSpec',
    message: `${field}: ${message}`,
  }));
}

function isPaused({ metadata }: Memcached): boolean {
  return metadata.annotations?.[annotation.paused] === 'true';
}

function isReady({ conditions = [] }: MemcachedStatus): boolean {
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
}
