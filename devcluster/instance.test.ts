import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addresses, findInstance, instanceDirectory } from './instance.ts';
import { Problem } from './problem.ts';

test('the default cluster lives in .devcluster, others beside it', () => {
  expect(instanceDirectory('/clone', 'default')).toBe('/clone/.devcluster');
  expect(instanceDirectory('/clone', 'demo')).toBe('/clone/.devcluster-demo');
});

test('a name that could not name interfaces and directories is refused before anything is looked at', async () => {
  for (const name of ['', '.', '../x', 'Demo', 'a b', '-a', 'a-', 'x'.repeat(21)]) {
    await expect(findInstance('/nowhere', name)).rejects.toThrow(Problem);
  }
});

test('what was never started is not found', async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'instances-'));
  expect(await findInstance(root, 'never')).toBeUndefined();
  await rm(root, { recursive: true });
});

test('addresses of two instances never overlap, and those of one are all different', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 130, max: 199 }), { minLength: 2, maxLength: 2 }),
      ([a = 0, b = 0]) => {
        const [one, two] = [addresses({ block: a }), addresses({ block: b })];
        expect(one.all).not.toBe(two.all);
        const single = [one.host, one.apiserver, one.dns, one.node(1), one.node(2)];
        expect(new Set(single).size).toBe(single.length);
        const prefix = one.all.replace('0.0/16', '');
        for (const address of [...single, one.podsOf(1), one.podsOf(2), one.fakePods])
          expect(address).toContain(prefix);
        expect(one.podsOf(1)).not.toBe(one.podsOf(2));
      },
    ),
  );
});
