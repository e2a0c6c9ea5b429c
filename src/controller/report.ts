/** Writes into the Memcached itself: its status, when it has something new to say, and replicas that have to be settled. */
import { isDeepStrictEqual } from 'node:util';
import type { Memcached, MemcachedStatus } from '../api/index.ts';
import { memcachedKind, serverList } from '../api/index.ts';
import { podSelector } from '../children/index.ts';
import { type Client, isNotFound, isRefused } from '../runtime/client/index.ts';
import { conditionsOf } from '../status/conditions.ts';
import type { Observation } from '../status/observation.ts';
import { hasItsName } from './leftovers.ts';
import type { Settlement } from './replicas.ts';

/** The status that follows from the observation. What others have to say in it stays. */
export function statusOf(memcached: Memcached, seen: Observation, now: Date): MemcachedStatus {
  const { status = {} } = memcached;
  const { memcachedVersion, ...others } = status; // one that no server tells any more is not shown
  const time = now.toISOString().replace(/\.\d+Z$/, 'Z');
  return {
    ...others,
    ...(seen.statistics ?? (memcachedVersion !== undefined && { memcachedVersion })),
    replicas: seen.replicas,
    readyReplicas: seen.deployment?.ready ?? 0,
    selector: podSelector(memcached),
    serverList: serverList(memcached, seen.replicas),
    ...(seen.isCarriedOut && { observedGeneration: seen.generation }),
    conditions: conditionsOf(seen, status.conditions ?? [], time),
  };
}

export function isReady(status: MemcachedStatus): boolean {
  return readinessIn(status)?.status === 'True';
}

export const NOT_READY_MS = { soonest: 10_000, latest: 60_000 };

/** How soon to look again at one that is not ready, should no change tell us to: the longer it has not been, the later. */
export function patienceMs({ metadata, status = {} }: Pick<Memcached, 'metadata' | 'status'>, now: Date): number {
  const since = Date.parse(readinessIn(status)?.lastTransitionTime ?? metadata.creationTimestamp ?? '');
  const waitedMs = Number.isNaN(since) ? 0 : now.getTime() - since; // the API server takes times that are none
  return Math.min(Math.max(waitedMs, NOT_READY_MS.soonest), NOT_READY_MS.latest);
}

function readinessIn({ conditions = [] }: MemcachedStatus) {
  return conditions.find(({ type }) => type === 'Ready');
}

/** Whether only details differ: numbers and messages, but nothing that anybody waits for. */
export function isDetail(before: MemcachedStatus = {}, after: MemcachedStatus): boolean {
  const essence = ({ replicas, observedGeneration, conditions = [] }: MemcachedStatus) => [
    replicas,
    observedGeneration,
    conditions.map((one) => [one.type, one.status, one.reason, one.observedGeneration]),
  ];
  return !isDeepStrictEqual(before, after) && isDeepStrictEqual(essence(before), essence(after));
}

/** Whether the servers do worse than was told. */
export function isWorse(before: MemcachedStatus = {}, after: MemcachedStatus): boolean {
  const is = ({ conditions = [] }: MemcachedStatus, type: string, value: string) =>
    conditions.some((one) => one.type === type && one.status === value);
  const becomes = (type: string, good: string, bad: string) => is(before, type, good) && is(after, type, bad);
  return becomes('Available', 'True', 'False') || becomes('Degraded', 'False', 'True');
}

/** Patches the status unless it is the same. Gives the Memcached as it is then. */
export async function report(
  memcached: Memcached,
  status: MemcachedStatus,
  client: Pick<Client, 'patch' | 'get'>,
  signal: AbortSignal,
): Promise<Memcached | undefined> {
  if (isDeepStrictEqual(status, memcached.status)) return undefined;
  const { name, namespace, uid } = memcached.metadata;
  const body = [
    { op: 'test', path: '/metadata/uid', value: uid }, // not onto another Memcached of the same name
    { op: 'add', path: '/status', value: status },
  ];
  const options = { type: 'json', body, subresource: 'status', signal } as const;
  try {
    return await unlessGone(client.patch(memcachedKind, name, namespace, options));
  } catch (error) {
    // Another has its name already, and the watch is about to tell so.
    if (isRefused(error) && !(await hasItsName(memcached, client, signal))) return undefined;
    throw error;
  }
}

/** Writes replicas into the spec, or removes them. Only if the spec is still the one that asked for it. */
export async function settle(
  memcached: Memcached,
  { replicas }: Settlement,
  client: Pick<Client, 'patch'>,
  signal: AbortSignal,
): Promise<Memcached | undefined> {
  const { name, namespace, resourceVersion } = memcached.metadata;
  const path = '/spec/replicas';
  const body = [
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
    replicas === undefined ? { op: 'remove', path } : { op: 'add', path, value: replicas },
  ];
  return unlessGone(client.patch(memcachedKind, name, namespace, { type: 'json', body, signal }));
}

async function unlessGone(patched: Promise<Memcached>): Promise<Memcached | undefined> {
  try {
    return await patched;
  } catch (error) {
    if (isNotFound(error)) return undefined; // deleted: nobody is left to report to
    throw error;
  }
}
