import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Part } from './parts.ts';
import { buildMissing } from './progress.ts';

let cache: string;
let written: string;
const output = {
  write: (text: string) => {
    written += text;
    return true;
  },
};
const never = new AbortController().signal;

beforeEach(async () => {
  written = '';
  cache = await mkdtemp(path.join(tmpdir(), 'progress-'));
  vi.stubEnv('DEVCLUSTER_CACHE', cache);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(cache, { recursive: true });
});

/** A part whose build writes its begin and end to a log. */
function logged(log: string[], name: string, overrides: Partial<Part> = {}): Part {
  return {
    name,
    version: 'v1',
    inputs: [],
    seconds: 30,
    async build(directory) {
      log.push(`+${name}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
      await writeFile(path.join(directory, name), name);
      log.push(`-${name}`);
    },
    ...overrides,
  };
}

test('says what is built, how much of it is done, and, the second time, that it is cached', async () => {
  const parts = [logged([], 'one'), logged([], 'two')];
  await buildMissing(parts, never, output);
  expect(written).toContain('2 parts: 0 cached, 2 to build (about 1 min on two cores)');
  expect(written).toContain('building one v1');
  expect(written).toMatch(/built {4}two v1 {2}in \d+ s {2}\([12] of 2\)/);
  written = '';
  await buildMissing(parts, never, output);
  expect(written).toBe('2 parts: cached\n');
});

test('builds what a part needs before it, and two parts of one module after each other', async () => {
  const log: string[] = [];
  const base = logged(log, 'base');
  const top = logged(log, 'top', { needs: [base] });
  const left = logged(log, 'left', { oneAtATime: 'module' });
  const right = logged(log, 'right', { oneAtATime: 'module' });
  await buildMissing([top, left, right], never, output);
  expect(log.indexOf('-base')).toBeLessThan(log.indexOf('+top'));
  expect(log.indexOf('-left')).toBeLessThan(log.indexOf('+right'));
  expect(log).toHaveLength(8);
});

test('never builds more than two at once, and does build two', async () => {
  const log: string[] = [];
  await buildMissing(
    ['a', 'b', 'c', 'd'].map((name) => logged(log, name)),
    never,
    output,
  );
  const atOnce = log.map((_, index) => {
    const soFar = log.slice(0, index + 1);
    return soFar.filter((line) => line.startsWith('+')).length - soFar.filter((line) => line.startsWith('-')).length;
  });
  expect(Math.max(...atOnce)).toBe(2);
});

test('a failure stops the other lane and is the error that is told; finished parts stay', async () => {
  const good = logged([], 'good');
  await buildMissing([good], never, output);
  const endless: Part = {
    ...logged([], 'endless'),
    build: (_, { signal }) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(new DOMException('', 'AbortError'))),
      ),
  };
  const broken: Part = { ...logged([], 'broken'), build: () => Promise.reject(new Error('does not compile')) };
  await expect(buildMissing([endless, broken, good], never, output)).rejects.toThrow('does not compile');
  written = '';
  await buildMissing([good], never, output);
  expect(written).toBe('1 part: cached\n');
});

test('an interrupted build ends, and the next one goes on', async () => {
  const interrupt = new AbortController();
  let attempts = 0;
  const part: Part = {
    ...logged([], 'slow'),
    async build(directory, { signal }) {
      attempts += 1;
      if (attempts === 1) interrupt.abort();
      signal.throwIfAborted();
      await writeFile(path.join(directory, 'slow'), '');
    },
  };
  await expect(buildMissing([part], interrupt.signal, output)).rejects.toThrow('aborted');
  await buildMissing([part], never, output);
  expect(attempts).toBe(2);
});
