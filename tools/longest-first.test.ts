import { globSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { LONG, longestFirst } from './longest-first.ts';

test('every file of the list is there, once', () => {
  const files = globSync('test/{integration,e2e}/*.test.ts').map((file) => path.basename(file, '.test.ts'));
  expect(LONG.filter((name) => files.filter((file) => file === name).length !== 1)).toEqual([]);
});

test('what takes long comes first, and the rest as it was', () => {
  const [long, longer] = [LONG.at(-1), LONG[0]];
  const files = ['b', long, 'a', longer].map((name) => ({ moduleId: `/test/e2e/${name}.test.ts` }));
  const names = longestFirst(files).map(({ moduleId }) => path.basename(moduleId, '.test.ts'));
  expect(names).toEqual([longer, long, 'b', 'a']);
});
