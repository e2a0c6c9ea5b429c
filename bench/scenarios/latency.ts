/**
 * One Memcached is changed while many others are settled, and while many others are in a storm: how long until its child is written.
 * Beside it, in the same moments, somebody who is told of the same change and at once writes something, without a thought.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { auditLog } from '../../devcluster/control-plane.ts';
import { memcachedKind } from '../../src/api/index.ts';
import { disruptionBudgetKind } from '../../src/children/disruption-budget.ts';
import type { Kind, KubernetesObject } from '../../src/kubernetes/object.ts';
import { apiErrorFrom } from '../../src/runtime/client/index.ts';
import { type ApiRequest, AuditLog } from '../audit.ts';
import { inParallel, namesOf } from '../crowd.ts';
import { configMapKind } from '../floor.ts';
import { timed } from '../progress.ts';
import { type Row, rowsFor } from '../rows.ts';
import type { Scenario, Scene } from '../scenario.ts';
import { settled } from '../settling.ts';
import { BENCH_AGENT } from '../site.ts';
import { median, quantile } from '../statistics.ts';

const PROBES = 100;
const PAUSE_MS = 100;
/** So many have work for longer than the changes take that are measured meanwhile. */
const MOST_IN_STORM = 500;
const POLL_MS = 10;

/** The last of the crowd; storms pass it by. */
const probedOf = (count: number) => `cache-${count}`;

export const latency: Scenario = {
  name: 'latency',
  crowds: ['reference', 'largest'],
  async measure(scene) {
    const { site, operator, count, isReference, signal } = scene;
    await settled(operator, site.audit, signal);
    const calm = await measured(scene, `changes while ${count - 1} others are settled`, () => probe(scene));
    const rows = rowsOf(`N = ${count}, settled`, calm, { median: 20 });
    if (!isReference) return rows; // for thousands the storm goes on for many minutes
    const storming = Math.min(MOST_IN_STORM, count - 1);
    const work = () => Promise.all([blow(scene, storming), probe(scene)]);
    const stormy = await measured(scene, `changes while ${storming} others are in a storm`, work);
    await settled(operator, site.audit, signal);
    return [...rows, ...rowsOf(`N = ${count}, ${storming} of them in a storm`, stormy, { p99: 200 })];
  },
};

interface Latencies {
  readonly ms: readonly number[];
  /** Of the one who writes without a thought. */
  readonly floorMs: readonly number[];
  readonly others: number;
}

function rowsOf(when: string, { ms, floorMs, others }: Latencies, most: { median?: number; p99?: number }): Row[] {
  const row = rowsFor(`latency, ${when}: from the Memcached's write to its child's`);
  const beside = (part: number, budget: number | undefined) => ({
    others,
    reference: quantile(floorMs, part),
    ...(budget !== undefined && { most: budget }),
  });
  return [
    row('changes', ms.length),
    row('median, ms', median(ms), beside(0.5, most.median)),
    row('90th percentile, ms', quantile(ms, 0.9), beside(0.9, undefined)),
    row('99th percentile, ms', quantile(ms, 0.99), beside(0.99, most.p99)),
  ];
}

/** By the clock of the server: from its answer to us until it hears of the operator, and of the other one. */
async function measured(scene: Scene, what: string, work: () => Promise<unknown>): Promise<Latencies> {
  const { site, operator, count } = scene;
  const ours = new AuditLog(auditLog(site.cluster.instance), BENCH_AGENT);
  await Promise.all([ours.next(), site.audit.next()]);
  const [, others] = await site.machine.during([operator.pid], () => timed(what, besideEcho(scene, work)));
  const patchesOf = (requests: readonly ApiRequest[], { plural }: Kind) =>
    requests.filter(({ verb, resource, name }) => verb === 'patch' && resource === plural && name === probedOf(count));
  const own = await ours.next();
  const changes = patchesOf(own, memcachedKind);
  const until = (writes: readonly ApiRequest[]) =>
    changes.flatMap(({ answeredMs, receivedMs }) => {
      const write = writes.find((one) => one.receivedMs > receivedMs);
      return write ? [Math.max(0, write.receivedMs - answeredMs)] : []; // he who writes may be told before we are
    });
  const written = patchesOf(await site.audit.next(), disruptionBudgetKind);
  return { ms: until(written), floorMs: until(patchesOf(own, configMapKind)), others };
}

/** Does the work while somebody writes an object each time that the probed Memcached wants something new. */
async function besideEcho(scene: Scene, work: () => Promise<unknown>): Promise<void> {
  const { site, namespace, count } = scene;
  const { client } = site;
  const name = probedOf(count);
  const done = new AbortController();
  const signal = AbortSignal.any([scene.signal, done.signal]);
  const probed = { namespace, fieldSelector: `metadata.name=${name}` };
  // The version of the list, not of its one object: that may be so old that no watch can begin there.
  const { items, metadata } = await client.list<KubernetesObject>(memcachedKind, { ...probed, signal });
  await client.create(
    configMapKind,
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace } },
    { signal },
  );
  const echo = async () => {
    let { resourceVersion } = metadata;
    let generation = items[0]?.metadata.generation;
    while (!signal.aborted) {
      for await (const { type, object } of client.watch(memcachedKind, { ...probed, resourceVersion, signal })) {
        if (type === 'ERROR') throw apiErrorFrom(object);
        const { metadata: now } = object as KubernetesObject;
        resourceVersion = now.resourceVersion;
        if (type !== 'MODIFIED' || now.generation === generation) continue;
        generation = now.generation;
        const body = { data: { generation: String(generation) } };
        await client.patch(configMapKind, name, namespace, { type: 'merge', body, signal: scene.signal });
      }
    }
  };
  try {
    await Promise.all([work().finally(() => done.abort()), echo()]);
  } finally {
    await client.delete(configMapKind, name, namespace);
  }
}

/** Changes something that concerns one child only, and waits until that has changed, again and again. */
async function probe({ site: { client }, operator, namespace, count, ...scene }: Scene): Promise<void> {
  const signal = AbortSignal.any([scene.signal, operator.lost]);
  const name = probedOf(count);
  const generation = async () => {
    const child = await client.get(disruptionBudgetKind, name, namespace, { metadataOnly: true, signal });
    return child.metadata.generation;
  };
  for (let time = 0; time < PROBES; time += 1) {
    const before = await generation();
    const podDisruptionBudget = { enabled: true, minAvailable: `${10 + (time % 50)}%` };
    const body = { spec: { highAvailability: { podDisruptionBudget } } };
    await client.patch(memcachedKind, name, namespace, { type: 'merge', body, signal });
    while ((await generation()) === before) await sleep(POLL_MS, undefined, { signal });
    await sleep(PAUSE_MS * Math.random(), undefined, { signal });
  }
}

/** Changes all of them at once. What follows from it goes on for longer. */
function blow({ site: { client }, namespace, signal }: Scene, storming: number): Promise<unknown> {
  const options = { type: 'merge', body: { spec: { memcached: { verbosity: 2 } } }, signal } as const;
  return inParallel(namesOf(storming), (name) => client.patch(memcachedKind, name, namespace, options));
}
