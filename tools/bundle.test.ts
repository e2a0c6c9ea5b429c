import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { bundle } from './bundle.ts';

test('the bundle runs without the sources and the packages', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'bundle-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = path.join(directory, 'memcached-operator.mjs');
  await bundle(file);
  // Far away from node_modules, and as far as a flag gets it: everything is loaded before flags are read.
  const said = await promisify(execFile)(process.execPath, [file, '--version'], { cwd: directory });
  expect(said.stdout).toMatch(/^memcached-operator \d/);
  expect(said.stderr).toBe('');
});
