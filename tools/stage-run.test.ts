import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { runStages } from './stage-run.ts';
import type { Stage } from './stages.ts';

const never = new AbortController().signal;
const quiet = { stop: never, kill: never, print: () => {} };

function script(name: string, code: string, countsTests = false): Stage {
  return { name, about: name, command: [process.execPath, '-e', code], countsTests, stopSignal: 'SIGUSR2' };
}

const directory = mkdtempSync(path.join(tmpdir(), 'stage-run-test-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** A file by which a script says that it is on its way. */
function beacon(name: string): { readonly light: string; readonly lit: () => Promise<void> } {
  const file = path.join(directory, name);
  return {
    light: `require('fs').writeFileSync(${JSON.stringify(file)}, '');`,
    lit: () => vi.waitUntil(() => existsSync(file), { timeout: 10_000 }).then(() => {}),
  };
}

const reporting = (...marks: string[]) =>
  `require('fs').writeFileSync(process.env.TEST_TALLY_FILE, ${JSON.stringify(`${marks.join('\n')}\n`)});`;

test('every stage runs, whatever became of those before it', async () => {
  const missing: Stage = { ...script('missing', ''), command: ['there-is-no-such-program'] };
  const results = await runStages(
    [
      script('fine', ''),
      script('broken', 'process.exit(3)'),
      missing,
      script('killed', "process.kill(process.pid, 'SIGKILL')"),
      script('tests', reporting('passed', 'skipped', 'end'), true),
      script('silent', '', true),
      script('crashing', `${reporting('passed', 'passed')} process.kill(process.pid, 'SIGKILL')`, true),
    ],
    quiet,
  );
  expect(results.map(({ name, tally }) => ({ name, ...tally }))).toEqual([
    { name: 'fine', passed: 1, failed: 0, skipped: 0 },
    { name: 'broken', passed: 0, failed: 1, skipped: 0 },
    { name: 'missing', passed: 0, failed: 1, skipped: 0 },
    { name: 'killed', passed: 0, failed: 1, skipped: 0 },
    { name: 'tests', passed: 1, failed: 0, skipped: 1 },
    { name: 'silent', passed: 0, failed: 1, skipped: 0 },
    { name: 'crashing', passed: 2, failed: 1, skipped: 0 },
  ]);
});

test('a stop lets the running stage end in order and begins no other', async () => {
  const stop = new AbortController();
  const lines: string[] = [];
  const begun = beacon('slow');
  const orderly = `process.once('SIGUSR2', () => { ${reporting('passed', 'end')} process.exit(1); }); ${begun.light} setInterval(() => {}, 1000);`;
  const running = runStages([script('slow', orderly, true), script('later', '')], {
    ...quiet,
    stop: stop.signal,
    print: (line) => lines.push(line),
  });
  await begun.lit();
  stop.abort();
  expect(await running).toEqual([
    { name: 'slow', seconds: expect.any(Number), tally: { passed: 1, failed: 1, skipped: 0 }, failures: [] },
    { name: 'later', seconds: 0 },
  ]);
  expect(lines).toEqual(['\n── slow: slow']);
});

test('a kill ends the stage with its children', async () => {
  const kill = new AbortController();
  const begun = beacon('deaf');
  const deaf = `process.on('SIGUSR2', () => {}); require('child_process').spawn('sleep', ['60'], { stdio: 'inherit' }); ${begun.light} setInterval(() => {}, 1000);`;
  const running = runStages([script('deaf', deaf)], { ...quiet, kill: kill.signal });
  await begun.lit();
  kill.abort();
  const [deafResult] = await running;
  expect(deafResult?.tally).toEqual({ passed: 0, failed: 1, skipped: 0 });
  expect(deafResult?.seconds).toBeLessThan(5);
});

/** A script that says what it was told to run, and reports one thing the first time and another the second. */
function wavering(first: readonly string[], second: readonly string[], code: number): Stage {
  const file = path.join(directory, `wavering-${Math.random()}`);
  const write = (marks: readonly string[], exit: number) => `${reporting(...marks)} process.exit(${exit});`;
  const body = `const fs = require('fs'); const again = fs.existsSync(${JSON.stringify(file)}); fs.writeFileSync(${JSON.stringify(file)}, '');
    if (again && process.argv.slice(1).join() !== '--alone,x.test.ts') process.exit(7);
    if (again) { ${write(second, code)} } else { ${write(first, 1)} }`;
  const command = [process.execPath, '-e', body, '--'] as const;
  return { name: 'real', about: 'real', command, countsTests: true, secondTry: '--alone', stopSignal: 'SIGUSR2' };
}

const FIRST = ['passed w.test.ts', 'passed x.test.ts', 'failed x.test.ts > is well: no', 'end'];

test('files that fail are run once more, and both results are told', async () => {
  const [result] = await runStages([wavering(FIRST, ['passed x.test.ts', 'passed x.test.ts', 'end'], 0)], quiet);
  expect(result).toMatchObject({
    tally: { passed: 3, failed: 0, skipped: 0 },
    failures: [],
    unsteady: ['x.test.ts > is well: no'],
  });
});

test('what fails twice has failed', async () => {
  const [result] = await runStages([wavering(FIRST, ['failed x.test.ts > is well: still no', 'end'], 1)], quiet);
  expect(result).toMatchObject({
    tally: { passed: 1, failed: 1, skipped: 0 },
    failures: ['x.test.ts > is well: still no'],
  });
  expect(result?.unsteady).toBeUndefined();
});

test.each([
  ['a crash', FIRST.slice(0, -1)],
  ['a failure that belongs to no test', ['passed x.test.ts', 'end']],
  ['failures in many files', [...['a', 'b', 'c', 'd'].map((name) => `failed ${name}.test.ts: no`), 'end']],
])('there is no second try after %s', async (_, marks) => {
  const [result] = await runStages([wavering(marks, ['passed x.test.ts', 'end'], 0)], quiet);
  expect(result?.tally?.failed).toBeGreaterThan(0);
  expect(result?.unsteady).toBeUndefined();
});
