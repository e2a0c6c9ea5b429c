/** A cluster that is full of things which are none of our business, some of which change all the time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { deploymentKind } from '../../src/children/index.ts';
import { secretKind } from '../../src/controller/secrets/secrets.ts';
import type { Kind } from '../../src/kubernetes/object.ts';
import { inParallel } from '../crowd.ts';
import { configMapKind, createNamespace } from '../floor.ts';
import type { Usage } from '../process-usage.ts';
import { timed } from '../progress.ts';
import { rowsFor } from '../rows.ts';
import type { Scenario, Scene } from '../scenario.ts';
import { rested, settled } from '../settling.ts';
import { shareDuring } from '../share.ts';
import { median } from '../statistics.ts';

const NAMESPACE = 'bench-noise';
const SECONDS = 60;
const UPDATES_PER_S = 30;
/** Of the same code, one process takes up to a twelfth more than another, and the budget is a twentieth. */
const STARTS = 3;

/** A kilobyte each, as certificates and the configuration of others are. */
const content = { data: { file: 'x'.repeat(1000) } };
const labels = { app: 'foreign' };
const deployment = {
  spec: {
    replicas: 0,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'foreign:1' }] } },
  },
};

const foreign: readonly { readonly kind: Kind; readonly count: number; readonly body: object }[] = [
  { kind: secretKind, count: 5000, body: { stringData: content.data } },
  { kind: configMapKind, count: 5000, body: content },
  { kind: deploymentKind, count: 2000, body: deployment },
];

export const noise: Scenario = {
  name: 'noise',
  crowds: ['reference'],
  async measure(scene) {
    const { site, signal } = scene;
    const quiet = await afresh(scene);
    await timed('5,000 Secrets, 5,000 ConfigMaps and 2,000 Deployments of others', populate(scene));
    await timed('until the cluster is calm', site.machine.calm(signal));
    const full = await afresh(scene);
    await rested(signal); // connections to all servers are made in this minute, and none of the next
    const resting = await shareDuring(scene, `${SECONDS} s in which they rest`, () =>
      sleep(SECONDS * 1000, undefined, { signal }),
    );
    const changing = await shareDuring(scene, `${SECONDS} s in which they change, ${UPDATES_PER_S} each second`, () =>
      disturb(scene),
    );
    const row = rowsFor(`noise, N = ${scene.count}`);
    return [
      row('memory after a restart, MB', full.residentMB, { reference: quiet.residentMB, ratio: 1.05 }),
      row('memory at its peak, MB', full.peakMB, { reference: quiet.peakMB }),
      row('memory while others change, MB', changing.after.residentMB, { reference: resting.after.residentMB }),
      row('CPU while others change, % of a core', changing.percent, { reference: resting.percent }),
      row('  of it for their changes, % of a core', changing.percent - resting.percent, {
        most: 1,
        others: Math.max(resting.others, changing.others),
      }),
    ];
  },
};

/** What the operator takes that has just seen everything for the first time: the median of several, of which the last one goes on. */
async function afresh(scene: Scene): Promise<{ residentMB: number; peakMB: number }> {
  const usages: Usage[] = [];
  while (usages.length < STARTS) {
    await scene.operator.stop();
    scene.operator = await scene.site.startOperator();
    await settled(scene.operator, scene.site.audit, scene.signal);
    usages.push(await scene.operator.usage());
  }
  return {
    residentMB: median(usages.map(({ residentMB }) => residentMB)),
    peakMB: median(usages.map(({ peakMB }) => peakMB)),
  };
}

const nameOf = (index: number) => `foreign-${index + 1}`;

async function populate({ site: { client }, signal }: Scene): Promise<void> {
  await createNamespace(client, NAMESPACE, signal);
  for (const { kind, count, body } of foreign) {
    const numbers = Array.from({ length: count }, (_, index) => index);
    const { apiVersion, kind: name } = kind;
    await inParallel(numbers, (index) => {
      const object = { apiVersion, kind: name, metadata: { name: nameOf(index), namespace: NAMESPACE }, ...body };
      return client.create(kind, object, { signal });
    });
  }
}

/** Changes one after another, at a steady rate. */
async function disturb({ site: { client }, signal }: Scene): Promise<void> {
  const end = performance.now() + SECONDS * 1000;
  for (let round = 0; performance.now() < end; round += 1) {
    const changes = foreign.map(({ kind, count }) => {
      const body = { metadata: { annotations: { round: String(round) } } };
      return client.patch(kind, nameOf(round % count), NAMESPACE, { type: 'merge', body, signal });
    });
    await Promise.all([...changes, sleep((1000 * foreign.length) / UPDATES_PER_S, undefined, { signal })]);
  }
}
