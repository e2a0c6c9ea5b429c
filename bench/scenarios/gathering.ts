/** Every server answers when it is asked for its figures, and they are always the same. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isWrite } from '../../test/support/audit.ts';
import { REPLICAS } from '../crowd.ts';
import { rowsFor } from '../rows.ts';
import type { Scenario } from '../scenario.ts';
import { settled } from '../settling.ts';
import { shareDuring } from '../share.ts';

const MINUTES = 2;
const BUDGET = { percent: 5, memcacheds: 1000 } as const;

export const gathering: Scenario = {
  name: 'gathering',
  crowds: ['largest'],
  async measure(scene) {
    const { site, operator, count, signal } = scene;
    await settled(operator, site.audit, signal);
    const before = (await site.servers.tally()).asked;
    const { cpuMs, percent, others, after } = await shareDuring(scene, `${MINUTES} minutes of gathering`, () =>
      sleep(MINUTES * 60_000, undefined, { signal }),
    );
    const questions = Object.entries((await site.servers.tally()).asked).map(
      ([host, times]) => times - (before[host] ?? 0),
    );
    const sum = questions.reduce((total, times) => total + times, 0);
    const asEach = questions.filter((times) => times >= MINUTES).length;
    const writes = (await site.audit.next()).filter(isWrite).length;
    const row = rowsFor(`gathering, ${count} Memcacheds, ${MINUTES} minutes`);
    return [
      row('questions', sum),
      row('servers that were not asked each minute', Math.max(0, REPLICAS * count - asEach), { most: 0 }),
      row('writes', writes, { most: 0 }),
      row('CPU per answer, ms', cpuMs / sum),
      row(`CPU for ${BUDGET.memcacheds} Memcacheds, % of a core`, (percent * BUDGET.memcacheds) / count, {
        most: BUDGET.percent,
        others,
      }),
      row('memory, MB', after.residentMB),
    ];
  },
};
