import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CommandFailed, run } from './command.ts';

/** Whether the process has neither ended nor is only waiting to be collected. */
async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ') X');
  return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
}

test('gives what the program writes to standard output', async () => {
  expect(await run('sh', ['-c', 'echo out; echo aside >&2'])).toBe('out\n');
});

test('hands over input, environment and directory', async () => {
  const options = { input: 'read me', env: { COLOUR: 'blue' }, cwd: '/' };
  expect(await run('sh', ['-c', 'cat; echo " $COLOUR $PWD"'], options)).toBe('read me blue /\n');
});

test('does not mind a program that leaves its input unread', async () => {
  expect(await run('true', [], { input: 'x'.repeat(1_000_000) })).toBe('');
});

test('tells each line of standard error as it comes', async () => {
  const lines: string[] = [];
  await run('sh', ['-c', 'echo one >&2; echo two >&2'], { onLine: (line) => lines.push(line) });
  expect(lines).toEqual(['one', 'two']);
});

test('a failure shows the command, its exit code and its last lines', async () => {
  const failure: unknown = await run('sh', ['-c', 'seq 1 40 >&2; exit 3']).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(CommandFailed);
  const { message } = failure as CommandFailed;
  expect(message).toContain('sh -c seq 1 40');
  expect(message).toContain('ended with 3');
  expect(message.split('\n').slice(1)).toEqual(Array.from({ length: 15 }, (_, index) => String(index + 26)));
});

test('a failure of a program that complains on standard output shows that', async () => {
  await expect(run('sh', ['-c', 'echo wrong; exit 1'])).rejects.toThrow('wrong');
});

test('a program that does not exist is an error, not a crash', async () => {
  await expect(run('/nowhere/program', [])).rejects.toMatchObject({ code: 'ENOENT' });
});

test('nothing is started for a signal that was given before', async () => {
  await expect(run('true', [], { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
});

test('the signal ends the program with its children and grandchildren', async ({ signal }) => {
  const interrupt = new AbortController();
  const pids: number[] = [];
  const script = "sh -c 'sleep 1000 & echo $! >&2; wait' & echo $! >&2; echo $$ >&2; wait";
  const running = run('sh', ['-c', script], {
    signal: interrupt.signal,
    onLine(line) {
      pids.push(Number(line));
      if (pids.length === 3) interrupt.abort();
    },
  });
  await expect(running).rejects.toMatchObject({ name: 'AbortError' });
  expect(pids.every((pid) => pid > 1)).toBe(true);
  for (const pid of pids) while (await isAlive(pid)) await sleep(20, undefined, { signal });
});

test('a program that does not heed the signal is killed', { timeout: 60_000 }, async () => {
  const interrupt = new AbortController();
  const script = 'trap "" TERM; echo ready >&2; while true; do sleep 1; done';
  const running = run('sh', ['-c', script], { signal: interrupt.signal, onLine: () => interrupt.abort() });
  await expect(running).rejects.toMatchObject({ name: 'AbortError' });
});
