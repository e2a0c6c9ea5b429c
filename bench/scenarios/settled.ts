/** Nothing happens: the operator asks the servers for their figures once a minute, and the API for nothing. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isWrite } from '../../test/support/audit.ts';
import { rowsFor } from '../rows.ts';
import type { Scenario } from '../scenario.ts';
import { settled as untilSettled } from '../settling.ts';
import { shareDuring } from '../share.ts';

const SECONDS = 120;

export const settled: Scenario = {
  name: 'settled',
  crowds: ['reference'],
  async measure(scene) {
    const { site, operator, signal } = scene;
    await untilSettled(operator, site.audit, signal);
    const { percent, others, after } = await shareDuring(scene, `${SECONDS} s in which nothing happens`, () =>
      sleep(SECONDS * 1000, undefined, { signal }),
    );
    const requests = await site.audit.next();
    const row = rowsFor(`settled, ${SECONDS} s`);
    return [
      row('writes', requests.filter(isWrite).length, { most: 0 }),
      // Each ends every few minutes and is begun again.
      row('requests besides watches', requests.filter(({ verb }) => verb !== 'watch').length),
      row('CPU, % of a core', percent, { most: 0.5, others }),
      row('memory, MB', after.residentMB),
    ];
  },
};
