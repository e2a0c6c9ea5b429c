import { expect, test } from 'vitest';
import { RecentWrites } from './recent-writes.ts';

const version = (resourceVersion: string) => ({ metadata: { resourceVersion } });

test('what was written counts until the watch has told it', async () => {
  const writes = new RecentWrites();
  await writes.during('a', () => Promise.resolve(version('10')));
  expect(writes.newest('a', undefined)).toEqual(version('10'));
  expect(writes.newest('a', version('9'))).toEqual(version('10'));
  expect(writes.newest('a', version('11'))).toEqual(version('11'));
  writes.seen('a', version('9'));
  expect(writes.newest('a', version('9'))).toEqual(version('10'));
  writes.seen('a', version('10'));
  expect(writes.newest('a', undefined)).toBeUndefined();
});

test('a deletion is believed, before the answer to the write as well as after it', async () => {
  const writes = new RecentWrites();
  await writes.during('a', () => Promise.resolve(version('10')));
  writes.seen('a', undefined);
  expect(writes.newest('a', undefined)).toBeUndefined();
  await writes.during('a', () => {
    writes.seen('a', version('12'));
    writes.seen('a', undefined);
    return Promise.resolve(version('12'));
  });
  expect(writes.newest('a', undefined)).toBeUndefined();
});

test('a failed write is not remembered', async () => {
  const writes = new RecentWrites();
  await expect(writes.during('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(writes.newest('a', undefined)).toBeUndefined();
});
