/** The operator is stopped and started among a settled crowd, for which there is nothing to do. */
import { isWrite } from '../../test/support/audit.ts';
import { say } from '../progress.ts';
import { rowsFor } from '../rows.ts';
import type { Scenario } from '../scenario.ts';
import { rested, settled } from '../settling.ts';

export const restart: Scenario = {
  name: 'restart',
  crowds: ['reference', 'largest'],
  async measure(scene) {
    const { site, signal, count, isReference } = scene;
    say('a restart');
    await scene.operator.stop();
    await site.audit.next();
    const pids: number[] = [];
    const [operator, others] = await site.machine.during(pids, async () => {
      const started = await site.startOperator();
      pids.push(started.pid);
      return started;
    });
    scene.operator = operator;
    const requests = await settled(operator, site.audit, signal);
    const { cpuMs } = await operator.usage();
    await rested(signal);
    const { residentMB, peakMB } = await operator.usage();
    const row = rowsFor(`restart, N = ${count}`);
    return [
      row('until in control, s', operator.startMs / 1000, { others, ...(isReference && { most: 3 }) }),
      row('requests', requests.length),
      row('writes', requests.filter(isWrite).length, { most: 0 }),
      row('CPU until settled, ms per Memcached', cpuMs / count),
      row('memory at its peak, MB', peakMB),
      row('memory when settled, MB', residentMB),
    ];
  },
};
