/** What is measured of the operator: a crowd arrives, everything is quiet, and it is started anew. */
import { setTimeout as sleep } from 'node:timers/promises';
import { memcachedKind, withDefaults } from '../src/api/index.ts';
import { children } from '../src/children/index.ts';
import type { Client } from '../src/runtime/client/index.ts';
import { type ApiRequest, type AuditLog, bySort, isWrite } from './audit.ts';
import { Counter, createCrowd, isReady, memcachedNamed } from './crowd.ts';
import { createNamespace } from './floor.ts';
import type { Operator } from './operator.ts';
import { say, timed } from './progress.ts';

export interface Arrival {
  /** From the first request for a Memcached to the answer to the last. */
  readonly createdMs: number;
  readonly childrenMs: number;
  readonly readyMs: number;
  readonly requests: number;
  readonly writes: number;
  /** Requests that the server did not carry out. */
  readonly refused: number;
  readonly bySort: Readonly<Record<string, number>>;
  readonly cpuMs: number;
  readonly peakMB: number;
}

export interface Quiet {
  readonly seconds: number;
  /** Watches are renewed every few minutes, and not counted here. */
  readonly requests: number;
  readonly cpuMs: number;
  readonly residentMB: number;
}

export interface Start {
  readonly startMs: number;
  readonly requests: number;
  readonly writes: number;
  readonly cpuMs: number;
  readonly residentMB: number;
}

export interface Scene {
  readonly client: Client;
  readonly operator: Operator;
  readonly audit: AuditLog;
  readonly namespace: string;
  readonly count: number;
  readonly signal: AbortSignal;
}

const QUIET_S = 30;
const SETTLED_S = 5;
const SETTLED_WITHIN_S = 120;
/** A process that follows a handful of idle watches takes less, even while it is profiled. */
const IDLE_CPU_MS_PER_S = 100;

/** The children that each of the Memcacheds wants, whatever becomes of its pods: the bare client makes the same. */
function childrenOfEach(namespace: string) {
  const { metadata, ...one } = memcachedNamed('any', namespace);
  const wanted = withDefaults({ ...one, metadata: { ...metadata, uid: 'any' } });
  return children.filter(({ build }) => build(wanted, {}) !== undefined);
}

/** Creates the Memcacheds and waits until all is done. */
export async function measureArrival(scene: Scene): Promise<Arrival> {
  const { client, operator, audit, namespace, count } = scene;
  const ended = new AbortController();
  const signal = AbortSignal.any([scene.signal, operator.lost, ended.signal]);
  await createNamespace(client, namespace, signal);
  const ofSpec = childrenOfEach(namespace);
  const kinds = ofSpec.map(({ kind }) => new Counter({ client, namespace, kind }, signal));
  const ready = new Counter({ client, namespace, kind: memcachedKind, counts: isReady }, signal);
  await Promise.all([ready, ...kinds].map((counter) => counter.synced));
  await audit.next();
  const { cpuMs: cpuBefore } = await operator.usage();
  const since = performance.now();
  const after = async (work: Promise<unknown>): Promise<number> => {
    await work;
    return performance.now() - since;
  };
  const times = Promise.all([
    after(createCrowd(client, namespace, count, signal)),
    after(Promise.all(kinds.map((counter) => counter.until(count, signal)))),
    after(ready.until(count, signal)),
  ]);
  const state = () =>
    `${kinds.map((counter, index) => `${counter.count} ${ofSpec[index]?.kind.plural}`).join(', ')}, ${ready.count} ready`;
  const [[createdMs, childrenMs, readyMs]] = await timed(`${count} Memcacheds for the operator`, times, state);
  ended.abort();
  const requests = await settled(scene);
  const usage = await operator.usage();
  return {
    createdMs,
    childrenMs,
    readyMs,
    requests: requests.length,
    writes: requests.filter(isWrite).length,
    refused: requests.filter(({ code }) => code >= 400).length,
    bySort: bySort(requests),
    cpuMs: usage.cpuMs - cpuBefore,
    peakMB: usage.peakMB,
  };
}

/** Watches it do nothing. */
export async function measureQuiet({ operator, audit, signal }: Scene): Promise<Quiet> {
  await audit.next();
  const before = await operator.usage();
  await timed(`${QUIET_S} s in which nothing happens`, sleep(QUIET_S * 1000, undefined, { signal }));
  const after = await operator.usage();
  const requests = (await audit.next()).filter(({ verb }) => verb !== 'watch').length;
  return { seconds: QUIET_S, requests, cpuMs: after.cpuMs - before.cpuMs, residentMB: after.residentMB };
}

/** Follows an operator that was just started, among Memcacheds for which there is nothing to do. */
export async function measureStart(scene: Omit<Scene, 'namespace' | 'count'>): Promise<Start> {
  const { operator } = scene;
  const requests = await settled(scene);
  const { cpuMs, residentMB } = await operator.usage();
  return {
    startMs: operator.startMs,
    requests: requests.length,
    writes: requests.filter(isWrite).length,
    cpuMs,
    residentMB,
  };
}

/** Waits until the operator has neither asked for anything nor computed much for a while. Gives what it has asked for until then. */
async function settled({ operator, audit, signal }: Omit<Scene, 'namespace' | 'count'>): Promise<ApiRequest[]> {
  say('until it settles');
  const requests: ApiRequest[] = [];
  const limit = AbortSignal.any([signal, operator.lost]);
  let { cpuMs } = await operator.usage();
  for (let idle = 0, waited = 0; idle < SETTLED_S; waited += 1) {
    if (waited >= SETTLED_WITHIN_S) throw new Error(`the operator was not idle for ${SETTLED_S} s in ${waited} s`);
    await sleep(1000, undefined, { signal: limit });
    const more = await audit.next();
    const now = (await operator.usage()).cpuMs;
    idle = more.length === 0 && now - cpuMs <= IDLE_CPU_MS_PER_S ? idle + 1 : 0;
    cpuMs = now;
    requests.push(...more);
  }
  return requests;
}
