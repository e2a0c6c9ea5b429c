import { expect, test } from 'vitest';
import { Problem } from '../devcluster/problem.ts';
import { findTool } from './container-tool.ts';

const { signal } = new AbortController();
const missing = (program: string) => Object.assign(new Error(`spawn ${program} ENOENT`), { code: 'ENOENT' });

test.each([
  ['docker', []],
  ['podman', ['docker']],
])('%s is taken where these do not work: %j', async (expected, broken) => {
  const run = async (program: string) => {
    if (broken.includes(program)) throw missing(program);
  };
  expect(await findTool(run, signal)).toBe(expected);
});

test('where none works, it says why, and what does the job instead', async () => {
  const run = async (program: string) => {
    throw program === 'podman'
      ? missing(program)
      : new Error('docker info ended with 1:\nCannot connect to the daemon.');
  };
  const problem = await findTool(run, signal).catch((error: unknown) => error);
  expect(problem).toBeInstanceOf(Problem);
  expect(problem).toMatchObject({
    message: expect.stringMatching(/docker: Cannot connect to the daemon\.\npodman: is not installed$/),
    remedy: expect.stringContaining('make image'),
  });
});
