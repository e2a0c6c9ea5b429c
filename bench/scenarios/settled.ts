/** Nothing happens: the operator asks the servers for their figures once a minute, and the API for nothing. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isWrite } from '../audit.ts';
import { timed } from '../progress.ts';
import { rowsFor } from '../rows.ts';
import type { Scenario } from '../scenario.ts';
import { settled as untilSettled } from '../settling.ts';

const SECONDS = 120;

export const settled: Scenario = {
  name: 'settled',
  crowds: ['reference'],
  async measure({ site: { audit, machine }, operator, servers, signal }) {
    await untilSettled(operator, audit, signal);
    const before = await operator.usage();
    const waiting = () => timed(`${SECONDS} s in which nothing happens`, sleep(SECONDS * 1000, undefined, { signal }));
    const [, others] = await machine.during([operator.pid, servers.pid], waiting);
    const after = await operator.usage();
    const requests = await audit.next();
    const row = rowsFor(`settled, ${SECONDS} s`);
    return [
      row('writes', requests.filter(isWrite).length, { most: 0 }),
      // Each ends every few minutes and is begun again.
      row('requests besides watches', requests.filter(({ verb }) => verb !== 'watch').length),
      row('CPU, % of a core', (after.cpuMs - before.cpuMs) / (10 * SECONDS), { most: 0.5, others }),
      row('memory, MB', after.residentMB),
    ];
  },
};
