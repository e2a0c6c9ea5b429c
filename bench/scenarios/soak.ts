/** Half an hour of random changes at a steady rate: whether anything piles up. */
import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { memcachedKind } from '../../src/api/index.ts';
import { serviceKind } from '../../src/children/service.ts';
import { slopeOf } from '../../test/support/slope.ts';
import { namesOf } from '../crowd.ts';
import { timed } from '../progress.ts';
import { rowsFor } from '../rows.ts';
import type { Scenario, Scene } from '../scenario.ts';
import { rested, settled } from '../settling.ts';
import { median } from '../statistics.ts';

const MINUTES = 30;
const CHANGES_PER_S = 5;
/** One for each connection to a server that is just being renewed; what leaks with every hundredth of the 9,000 changes is more. */
const MORE_HANDLES = 1.05;

/** Minutes, and megabytes. */
type Sample = Parameters<typeof slopeOf>[0][number];

export const soak: Scenario = {
  name: 'soak',
  crowds: ['reference'],
  onlyFull: true,
  async measure(scene) {
    const { site, operator, signal } = scene;
    await rested(signal);
    const handlesBefore = await handlesOf(operator.pid);
    const samples: Sample[] = [];
    await timed(
      `${MINUTES} minutes of changes`,
      churn(scene, samples),
      () => `${samples.length} of ${MINUTES} minutes`,
    );
    await settled(operator, site.audit, signal);
    await rested(signal);
    const handles = await handlesOf(operator.pid);
    const metric = await site.metricsOf(operator);
    // The first third is the time in which a heap finds its size.
    const late = samples.slice(MINUTES / 3);
    const { value: slope, margin } = slopeOf(late);
    const row = rowsFor(`soak, ${MINUTES} minutes`);
    return [
      row('memory after the first third, MB', median(late.slice(0, 5).map(({ y }) => y))),
      row('memory at the end, MB', median(late.slice(-5).map(({ y }) => y))),
      row('slope of memory, MB an hour', 60 * slope, { most: 60 * margin }),
      row('Memcacheds in the queue at the end', metric('workqueue_depth'), { most: 0 }),
      row('open handles at the end', handles, { reference: handlesBefore, ratio: MORE_HANDLES }),
    ];
  },
};

async function churn({ site: { client }, operator, namespace, count, ...scene }: Scene, samples: Sample[]) {
  const signal = AbortSignal.any([scene.signal, operator.lost]);
  const names = namesOf(count);
  const begin = performance.now();
  for (let round = 0; samples.length < MINUTES; round += 1) {
    const name = names[Math.floor(Math.random() * count)] ?? '';
    if (round % 5 === 0) await client.delete(serviceKind, name, namespace, { signal }).catch(() => undefined);
    else {
      const body = { spec: { memcached: { verbosity: round % 2 } } };
      await client.patch(memcachedKind, name, namespace, { type: 'merge', body, signal });
    }
    await sleep(1000 / CHANGES_PER_S, undefined, { signal });
    const minutes = (performance.now() - begin) / 60_000;
    if (minutes >= samples.length + 1) samples.push({ x: minutes, y: (await operator.usage()).residentMB });
  }
}

async function handlesOf(pid: number): Promise<number> {
  return (await readdir(`/proc/${pid}/fd`)).length;
}
