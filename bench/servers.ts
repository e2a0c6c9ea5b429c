/** Simulated pods whose servers answer, always the same: without them the operator would ask in vain again and again. */
import { FakeMemcacheds } from '../test/support/fake-memcacheds.ts';
import { say } from './progress.ts';
import type { Scene, SettledScene } from './scenario.ts';
import { settled } from './settling.ts';

/** Begins when every server has been asked and every status tells of it, which a new operator does soonest. */
export async function whileServersAnswer(scene: Scene, work: (scene: SettledScene) => Promise<void>): Promise<void> {
  say('a restart, and servers that answer');
  const servers = await FakeMemcacheds.start(scene.site.cluster.instance);
  try {
    await scene.operator.stop();
    const operator = await scene.site.startOperator();
    await settled(operator, scene.site.audit, scene.signal);
    await work({ ...scene, operator, servers });
  } finally {
    await servers.stop();
  }
}
