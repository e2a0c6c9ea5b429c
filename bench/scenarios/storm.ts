/** Everything happens to everybody at once: specs change, children are deleted, pods go. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Memcached, memcachedKind } from '../../src/api/index.ts';
import { MANAGED_SELECTOR } from '../../src/children/index.ts';
import { serviceKind } from '../../src/children/service.ts';
import { podKind } from '../../src/controller/world.ts';
import type { Kind, KubernetesObject } from '../../src/kubernetes/object.ts';
import { isWrite } from '../../test/support/audit.ts';
import { inParallel, namesOf, REPLICAS } from '../crowd.ts';
import { timed } from '../progress.ts';
import { type Row, rowsFor } from '../rows.ts';
import type { Scenario, Scene } from '../scenario.ts';
import { settled } from '../settling.ts';

const POLL_MS = 200;

interface Storm {
  readonly what: string;
  /** Lets it happen. Gives what tells whether it is over. */
  readonly blow: (scene: Scene) => Promise<() => Promise<boolean>>;
}

const storms: readonly Storm[] = [
  {
    what: 'all specs change',
    async blow({ site: { client }, namespace, count, signal }) {
      const options = { type: 'merge', body: { spec: { memcached: { verbosity: 1 } } }, signal } as const;
      await inParallel(namesOf(count), (name) => client.patch(memcachedKind, name, namespace, options));
      return async () => {
        const { items } = await client.list<Memcached>(memcachedKind, { namespace, signal });
        return items.every(isCarriedOut);
      };
    },
  },
  { what: 'all Services are deleted', blow: (scene) => deleted(scene, serviceKind, scene.count) },
  { what: 'a pod of each is deleted', blow: (scene) => deleted(scene, podKind, REPLICAS * scene.count) },
];

/** Deletes one object of each Memcached. It is over when there are as many as should be, and none of these. */
async function deleted({ site: { client }, namespace, signal }: Scene, kind: Kind, count: number) {
  const list = async () => {
    const options = { namespace, labelSelector: MANAGED_SELECTOR, metadataOnly: true, signal };
    return (await client.list<KubernetesObject>(kind, options)).items.map(({ metadata }) => metadata);
  };
  const ofEach = Map.groupBy(await list(), ({ labels }) => labels?.['app.kubernetes.io/instance']);
  const chosen = [...ofEach.values()].flatMap(([first]) => first ?? []);
  await inParallel(chosen, ({ name }) => client.delete(kind, name, namespace, { signal }));
  const gone = new Set(chosen.map(({ uid }) => uid));
  return async () => {
    const here = await list();
    return here.length === count && here.every(({ uid, deletionTimestamp }) => !gone.has(uid) && !deletionTimestamp);
  };
}

async function measure(scene: Scene, { what, blow }: Storm): Promise<Row[]> {
  const { site, operator, count, signal } = scene;
  await settled(operator, site.audit, signal);
  const before = await operator.usage();
  const storm = async () => {
    const isOver = await blow(scene);
    while (!(await isOver())) await sleep(POLL_MS, undefined, { signal: AbortSignal.any([signal, operator.lost]) });
  };
  const [[, ms], others] = await site.machine.during([operator.pid], () => timed(`a storm: ${what}`, storm()));
  const requests = await settled(operator, site.audit, signal);
  const after = await operator.usage();
  const row = rowsFor(`storm, N = ${count}: ${what}`);
  return [
    row('until it is over, s', ms / 1000),
    row('writes per Memcached', requests.filter(isWrite).length / count),
    row('CPU per Memcached, ms', (after.cpuMs - before.cpuMs) / count),
    row('memory at its peak, MB', after.peakMB),
    row('other programs had of the machine, %', 100 * others),
  ];
}

/** Ready, and speaking of the present spec. */
function isCarriedOut({ metadata, status }: Memcached): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True' && ready.observedGeneration === metadata.generation;
}

export const storm: Scenario = {
  name: 'storm',
  crowds: ['reference'],
  async measure(scene) {
    const rows: Row[] = [];
    for (const one of storms) rows.push(...(await measure(scene, one)));
    return rows;
  },
};
