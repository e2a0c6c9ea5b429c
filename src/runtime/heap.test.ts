import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { expect, test } from 'vitest';
import { growthPercent } from './heap.ts';

test.each([
  { alive: 0, percent: 20 },
  { alive: 25_000_000, percent: 20 },
  { alive: 45_000_000, percent: 80 },
  { alive: 75_000_000, percent: 150 },
  { alive: 800_000_000, percent: 150 },
])('with $alive bytes alive the heap grows by $percent %', ({ alive, percent }) => {
  expect(growthPercent(alive, 20)).toBe(percent);
});

test('what Node was told is the least, also where it is more than we would say', () => {
  expect(growthPercent(75_000_000, 200)).toBe(200);
});

test('whenever V8 has looked through it, a large heap may grow by more', () => {
  const script = `
    import { getHeapStatistics, setFlagsFromString } from 'node:v8';
    import { followGrowth } from '${path.join(import.meta.dirname, 'heap.ts')}';
    const used = () => getHeapStatistics().used_heap_size;
    const grown = async () => {
      const recent = [];
      let most = 0;
      for (let i = 0; i < 4_000_000; i += 1) {
        recent[i % 60_000] = { i, more: [i] };
        if (i % 20_000 > 0) continue;
        most = Math.max(most, used());
        await new Promise(setImmediate); // V8 works in between
      }
      return most;
    };
    const alive = Array.from({ length: 600_000 }, (_, i) => ({ i, more: { i } }));
    gc();
    const untold = await grown();
    followGrowth(20);
    const told = [];
    while (told.length < 2) {
      setFlagsFromString('--heap-growing-percent=20'); // what counts is what V8 is told from its next look on
      await grown();
      told.push(await grown());
    }
    console.log(JSON.stringify([untold, Math.min(...told), alive.length]));`;
  const flags = ['--max-semi-space-size=2', '--heap-growing-percent=20', '--memory-saver-mode', '--expose-gc'];
  const printed = execFileSync('node', [...flags, '--input-type=module', '-e', script], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  const [untold = 0, told = 0] = JSON.parse(printed) as number[];
  expect(told).toBeGreaterThan(1.2 * untold);
});
