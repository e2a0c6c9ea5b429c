import { mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type BuildContext, build, isBuilt, type Part, partDirectory } from './parts.ts';

let cache: string;
const context: BuildContext = { signal: new AbortController().signal, report: () => {} };

beforeEach(async () => {
  cache = await mkdtemp(path.join(tmpdir(), 'parts-'));
  vi.stubEnv('DEVCLUSTER_CACHE', cache);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(cache, { recursive: true });
});

function part(overrides: Partial<Part> = {}): Part & { builds: number } {
  const made = {
    name: 'thing',
    version: 'v1',
    inputs: ['source'],
    seconds: 1,
    builds: 0,
    async build(directory: string) {
      made.builds += 1;
      await writeFile(path.join(directory, 'thing'), 'a finished thing');
    },
    ...overrides,
  };
  return made;
}

test('a part is built once and found again', async () => {
  const thing = part();
  expect(await isBuilt(thing)).toBe(false);
  await build(thing, context);
  await build(thing, context);
  expect(thing.builds).toBe(1);
  expect(await isBuilt(thing)).toBe(true);
  expect(await readFile(path.join(partDirectory(thing), 'thing'), 'utf8')).toBe('a finished thing');
});

test('a change of the inputs, or of what a part needs, asks for a new build', () => {
  const places = [
    part(),
    part({ inputs: ['other source'] }),
    part({ version: 'v2' }),
    part({ needs: [part({ name: 'base' })] }),
    part({ needs: [part({ name: 'base', inputs: ['other base'] })] }),
  ].map(partDirectory);
  expect(new Set(places).size).toBe(places.length);
  expect(partDirectory(part())).toBe(places[0]);
});

test('a part that lost a file or a piece of one is built again', async () => {
  const thing = part();
  await build(thing, context);
  await truncate(path.join(partDirectory(thing), 'thing'), 3);
  expect(await isBuilt(thing)).toBe(false);
  await build(thing, context);
  await rm(path.join(partDirectory(thing), 'thing'));
  expect(await isBuilt(thing)).toBe(false);
  await build(thing, context);
  expect(thing.builds).toBe(3);
  expect(await isBuilt(thing)).toBe(true);
});

test('what an interrupted build left behind is neither used nor in the way', async () => {
  const thing = part();
  await build(part({ name: 'other' }), context);
  const unfinished = `${partDirectory(thing)}.unfinished`;
  await mkdir(unfinished);
  await writeFile(path.join(unfinished, 'leftover'), 'half');
  expect(await isBuilt(thing)).toBe(false);
  await build(thing, context);
  expect(await readdir(partDirectory(thing))).toEqual(['.sizes.json', 'thing']);
});

test('a failed build leaves nothing and can be repeated', async () => {
  const broken = part({ build: () => Promise.reject(new Error('no compiler')) });
  await expect(build(broken, context)).rejects.toThrow('no compiler');
  expect(await readdir(cache)).toEqual([]);
});

test('two that want the same part build it once', async () => {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const waits: string[] = [];
  const thing = part();
  const slow: Part = { ...thing, build: (directory, c) => gate.then(() => thing.build(directory, c)) };
  const second = { ...context, report: (doing: string) => waits.push(doing) && release() };
  await Promise.all([build(slow, context), build(slow, second)]);
  expect(thing.builds).toBe(1);
  expect(waits).toEqual(['waiting for another process that is building it']);
});
