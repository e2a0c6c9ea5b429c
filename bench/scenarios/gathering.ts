/** Every server answers when it is asked for its figures, and they are always the same. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isWrite } from '../../test/support/audit.ts';
import { REPLICAS } from '../crowd.ts';
import { rowsFor } from '../rows.ts';
import type { Scenario } from '../scenario.ts';
import { settled } from '../settling.ts';
import { shareDuring } from '../share.ts';

/** Two rounds: one of them is sure to be whole. */
const SECONDS = 120;
const BUDGET = { percent: 5, memcacheds: 1000 } as const;

export const gathering: Scenario = {
  name: 'gathering',
  crowds: ['largest'],
  async measure(scene) {
    const { site, operator, count, signal } = scene;
    await settled(operator, site.audit, signal);
    const asked = async () => Object.values((await site.servers.tally()).asked).reduce((sum, times) => sum + times, 0);
    const askedBefore = await asked();
    const { cpuMs, percent, others, after } = await shareDuring(scene, `${SECONDS} s of gathering`, () =>
      sleep(SECONDS * 1000, undefined, { signal }),
    );
    const questions = (await asked()) - askedBefore;
    if (questions < REPLICAS * count) throw new Error(`of ${REPLICAS * count} servers only ${questions} were asked`);
    const writes = (await site.audit.next()).filter(isWrite).length;
    const row = rowsFor(`gathering, ${count} Memcacheds, ${SECONDS} s`);
    return [
      row('servers asked', questions),
      row('writes', writes, { most: 0 }),
      row('CPU per answer, ms', cpuMs / questions),
      row(`CPU for ${BUDGET.memcacheds} Memcacheds, % of a core`, (percent * BUDGET.memcacheds) / count, {
        most: BUDGET.percent,
        others,
      }),
      row('memory, MB', after.residentMB),
    ];
  },
};
