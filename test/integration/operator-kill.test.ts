/** An operator that is killed again and again, wherever it happens to be: the next one finishes what it has begun. */
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { memcachedKind } from '../../src/api/index.ts';
import { Churn, deed } from '../support/churn.ts';
import { find, stage, until } from '../support/memcacheds.ts';
import { Operator } from '../support/operator.ts';

const at = stage({ name: 'test-kill', form: 'fake', fakeNodes: 3 });
const KILLS = 100;
const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000);

/** What happens between two kills: some changes, at some moment before the end. */
const round = fc.record({
  deeds: fc.array(deed, { minLength: 1, maxLength: 4 }),
  /** Whether they happen before the operator is there. */
  isEarly: fc.boolean(),
  killAfterMs: fc.nat(80),
});
test(`${KILLS} kills leave nothing half-done`, { timeout: 900_000 }, async ({ signal }) => {
  console.log(`seed ${SEED} (SEED=${SEED} does it again)`);
  const churn = new Churn(at, 10);
  await at.operator.kill();
  const rounds = fc.sample(round, { seed: SEED, numRuns: KILLS });
  const left: number[] = [];
  const stumbles: string[] = [];
  for (const { deeds, isEarly, killAfterMs } of rounds) {
    if (isEarly) for (const one of deeds) await churn.act(one);
    const operator = await Operator.launch(at.kubeconfig);
    while (!operator.logs.some((line) => line.message === 'in control')) {
      operator.assertAlive();
      await sleep(1, undefined, { signal });
    }
    if (!isEarly) for (const one of deeds) await churn.act(one);
    await sleep(killAfterMs);
    await operator.kill();
    left.push((await unfinished(churn)).length);
    stumbles.push(...operator.logs.filter(({ level }) => level === 'error').map((line) => JSON.stringify(line)));
  }
  const interrupted = left.filter((count) => count > 0).length;
  console.log(`${interrupted} of ${KILLS} kills left something to do: ${left.join(' ')}`);
  console.log(`errors on the way: ${stumbles.join('\n') || 'none'}`);
  at.operator = await Operator.start(at.kubeconfig, signal);
  const look = async () => {
    await sleep(200);
    return unfinished(churn);
  };
  const { ms } = await until(at, 'all is done', look, ({ length }) => length === 0, signal);
  console.log(`${churn.wanted.size} Memcacheds are well ${Math.round(ms)} ms after the last start`);
  await sleep(1000);
  expect(await unfinished(churn)).toEqual([]);
  const finalizers = await Promise.all([...churn.wanted.keys()].map((name) => find(at, memcachedKind, name)));
  expect(finalizers.filter((one) => one && 'finalizers' in one.metadata)).toEqual([]);
});

async function unfinished(churn: Churn): Promise<string[]> {
  const { ours, theirs } = await churn.unfinished();
  return [...ours, ...theirs];
}
