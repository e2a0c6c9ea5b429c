import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { withLock } from './lock.ts';

/** A process that takes the lock and never lets go of it. */
async function holder(name: string): Promise<ChildProcess> {
  const script = `
    import { withLock } from ${JSON.stringify(path.join(import.meta.dirname, 'lock.ts'))};
    await withLock(${JSON.stringify(name)}, async () => {
      console.log('held');
      await new Promise(() => setInterval(() => {}, 1000));
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}

test('those who want the same lock have it one after another', async () => {
  const name = randomUUID();
  let inside = 0;
  let most = 0;
  const work = async (result: number) => {
    inside += 1;
    most = Math.max(most, inside);
    await turn();
    inside -= 1;
    return result;
  };
  const results = await Promise.all([1, 2, 3, 4].map((number) => withLock(name, () => work(number))));
  expect(results).toEqual([1, 2, 3, 4]);
  expect(most).toBe(1);
});

test('locks of different names have nothing to do with each other', async () => {
  const inner = () => withLock(randomUUID(), () => Promise.resolve('both'));
  expect(await withLock(randomUUID(), inner)).toBe('both');
});

test('a failure lets go of the lock and is passed on', async () => {
  const name = randomUUID();
  await expect(withLock(name, () => Promise.reject(new Error('no luck')))).rejects.toThrow('no luck');
  expect(await withLock(name, () => Promise.resolve('free'))).toBe('free');
});

test('another process is waited for, and its death frees the lock', async () => {
  const name = randomUUID();
  const child = await holder(name);
  const events: string[] = [];
  const onWait = () => {
    events.push('waiting');
    child.kill('SIGKILL');
  };
  await withLock(name, () => Promise.resolve(events.push('held')), { onWait });
  expect(events).toEqual(['waiting', 'held']);
});

test('waiting can be given up', async () => {
  const name = randomUUID();
  const child = await holder(name);
  try {
    const giveUp = new AbortController();
    const waiting = withLock(name, () => Promise.resolve('never'), {
      signal: giveUp.signal,
      onWait: () => giveUp.abort(),
    });
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  } finally {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});
