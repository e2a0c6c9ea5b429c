/** Runs stages one after another, streaming what they print, and says what came of each. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Stage } from './stages.ts';
import { failedFiles, failuresIn, replaced, type StageResult, tallyOfCheck, tallyOfTests } from './tally.ts';
import { TALLY_FILE } from './tally-reporter.ts';

export interface StageRunOptions {
  /** Asks the running stage to end; those after it are not begun. */
  readonly stop: AbortSignal;
  /** Ends the running stage at once. */
  readonly kill: AbortSignal;
  readonly print: (line: string) => void;
}

/** A stage that fails stops nothing: one run shows everything that is wrong. */
export async function runStages(stages: readonly Stage[], options: StageRunOptions): Promise<StageResult[]> {
  const directory = mkdtempSync(path.join(tmpdir(), 'test-run-'));
  const results: StageResult[] = [];
  try {
    for (const stage of stages) {
      if (options.stop.aborted) results.push({ name: stage.name, seconds: 0 });
      else results.push(await runStage(stage, path.join(directory, stage.name), options));
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
  return results;
}

async function runStage(stage: Stage, tallyFile: string, options: StageRunOptions): Promise<StageResult> {
  options.print(`\n── ${stage.name}: ${stage.about}`);
  const begin = performance.now();
  const exitCode = await exitCodeOf(stage, tallyFile, options);
  if (!stage.countsTests) return { name: stage.name, seconds: secondsSince(begin), tally: tallyOfCheck(exitCode) };
  const marks = marksIn(tallyFile);
  const again = await secondTry(stage, marks, `${tallyFile}-again`, options);
  const result = again ?? { marks, exitCode };
  return {
    name: stage.name,
    seconds: secondsSince(begin),
    tally: tallyOfTests(result.marks, result.exitCode),
    failures: failuresIn(result.marks),
    ...(again?.exitCode === 0 && { unsteady: failuresIn(marks) }),
  };
}

/** More than these are no accident. */
const MOST_FILES = 3;

async function secondTry(stage: Stage, marks: string, tallyFile: string, options: StageRunOptions) {
  const { secondTry: alone } = stage;
  const files = failedFiles(marks);
  if (!alone || files.length === 0 || files.length > MOST_FILES || options.stop.aborted) return undefined;
  options.print(`\n── ${stage.name}, once more: ${files.join(', ')}`);
  const exitCode = await exitCodeOf({ ...stage, command: [...stage.command, alone, ...files] }, tallyFile, options);
  return { marks: replaced(marks, marksIn(tallyFile), files), exitCode };
}

function marksIn(tallyFile: string): string {
  return existsSync(tallyFile) ? readFileSync(tallyFile, 'utf8') : '';
}

function secondsSince(begin: number): number {
  return (performance.now() - begin) / 1000;
}

/** The exit code of the program; `null` where it was killed or could not be started. */
function exitCodeOf(stage: Stage, tallyFile: string, { stop, kill, print }: StageRunOptions): Promise<number | null> {
  const [program, ...args] = stage.command;
  // A group of its own: Ctrl-C in the terminal reaches us alone, and we decide how the program ends.
  const child = spawn(program, args, {
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, [TALLY_FILE]: tallyFile },
  });
  const { pid } = child;
  const onStop = () => child.kill(stage.stopSignal);
  const onKill = () => {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  };
  stop.addEventListener('abort', onStop);
  kill.addEventListener('abort', onKill);
  return new Promise<number | null>((resolve) => {
    child.once('error', (error) => {
      print(`${stage.name} could not be run: ${error.message}`);
      resolve(null);
    });
    child.once('close', (code, signal) => {
      if (signal !== null) print(`${stage.name} was ended by ${signal}`);
      resolve(code);
    });
  }).finally(() => {
    stop.removeEventListener('abort', onStop);
    kill.removeEventListener('abort', onKill);
  });
}
