import { expect, test } from 'vitest';
import { RecentWrites } from './recent-writes.ts';

const version = (resourceVersion: string) => ({ metadata: { resourceVersion } });

/** A watch that has told so far what it is made to. */
function watching() {
  const told = new Map<string, ReturnType<typeof version>>();
  const watch = { at: 0, told, asked: 0 };
  const writes = new RecentWrites({
    get: (key) => told.get(key),
    hasReached: (resourceVersion) => {
      watch.asked += 1;
      return Number(resourceVersion) <= watch.at;
    },
  });
  return { watch, writes };
}

test('what was written counts until the watch has told it', () => {
  const { watch, writes } = watching();
  watch.told.set('a', version('9'));
  watch.at = 9;
  expect(writes.newest('a')).toEqual(version('9'));
  writes.remember('a', version('11'));
  watch.told.set('a', version('10'));
  watch.at = 10;
  expect(writes.newest('a')).toEqual(version('11'));
  watch.told.set('a', version('12'));
  watch.at = 12;
  expect(writes.newest('a')).toEqual(version('12'));
});

test('what the watch never tells, because it was broken, is not waited for', () => {
  const { watch, writes } = watching();
  writes.remember('a', version('10'));
  expect(writes.newest('a')).toEqual(version('10'));
  watch.at = 20; // a list, in which it is not
  expect(writes.newest('a')).toBeUndefined();
});

test('what is told before the write is answered counts', () => {
  const { watch, writes } = watching();
  watch.at = 12; // created at 11, deleted at 12
  writes.remember('a', version('11'));
  expect(writes.newest('a')).toBeUndefined();
});

test('writes that nobody asks for again do not pile up, nor cost much', () => {
  const { watch, writes } = watching();
  for (let count = 1; count <= 10_000; count += 1) {
    watch.at = count - 50;
    writes.remember(`key-${count}`, version(String(count)));
  }
  expect(watch.asked).toBeLessThan(100_000);
  watch.at = 9_990;
  watch.asked = 0;
  for (let count = 10_001; count <= 10_200; count += 1) writes.remember(`key-${count}`, version(String(count)));
  expect(watch.asked).toBeLessThan(600); // those of the last two hundred, and what little was left
});

test('tells whether a version is what came of our own write', () => {
  const { writes } = watching();
  expect(writes.written('a', '11')).toBeUndefined();
  writes.remember('a', version('11'));
  expect(writes.written('a', '11')).toEqual(version('11'));
  expect(writes.written('a', '12')).toBeUndefined();
  expect(writes.written('a', undefined)).toBeUndefined();
});
