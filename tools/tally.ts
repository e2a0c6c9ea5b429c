/** Counts of what passed and failed, and how they are told: pure. */

export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** One stage of a test run, after its end. `tally` is missing where the stage never began. */
export interface StageResult {
  readonly name: string;
  readonly seconds: number;
  readonly tally?: Tally;
  /** What the failed tests say of themselves. */
  readonly failures?: readonly string[];
  /** What those said that failed at first, where their files passed when they were run once more. */
  readonly unsteady?: readonly string[];
}

/** The marks that the reporter leaves behind, one per line, each with its file; `failed` goes on with what failed; `end` is the last of a run that came to its end. */
export type Mark = 'passed' | 'failed' | 'skipped' | 'end';

/** A check without counts of its own is one test: it passes when its program does. */
export function tallyOfCheck(exitCode: number | null): Tally {
  return exitCode === 0 ? { passed: 1, failed: 0, skipped: 0 } : { passed: 0, failed: 1, skipped: 0 };
}

/** What a test run reported, with one failure more for what no test can report: a crash, an error outside the tests, no tests at all. */
export function tallyOfTests(marks: string, exitCode: number | null): Tally {
  const lines = marks.split('\n');
  const count = (mark: Mark) => lines.filter((line) => line.split(' ', 1)[0] === mark).length;
  const [passed, failed, skipped] = [count('passed'), count('failed'), count('skipped')];
  const crashed = count('end') === 0;
  const failedSilently = exitCode !== 0 && failed === 0;
  const ranNothing = passed + failed === 0;
  return { passed, failed: failed + (crashed || failedSilently || ranNothing ? 1 : 0), skipped };
}

export function failuresIn(marks: string): string[] {
  return marks.split('\n').flatMap((line) => (line.startsWith('failed ') ? [line.slice('failed '.length)] : []));
}

/** The files in which something failed; none for a run that did not come to its end. */
export function failedFiles(marks: string): string[] {
  const lines = marks.split('\n');
  if (!lines.includes('end')) return [];
  return [...new Set(lines.filter((line) => line.startsWith('failed ')).map(fileOf))];
}

/** The marks of a run in which some files were run once more: of those, the later ones count. */
export function replaced(marks: string, later: string, files: readonly string[]): string {
  const kept = marks.split('\n').filter((line) => line !== 'end' && !files.includes(fileOf(line)));
  return [...kept, later].join('\n');
}

function fileOf(line: string): string {
  return line.split(' ')[1]?.replace(/:$/, '') ?? '';
}

/** The sum; nothing that passed at all counts as a failure, so that an empty run is never green. */
export function total(results: readonly StageResult[]): Tally {
  const sum = (field: keyof Tally) => results.reduce((count, { tally }) => count + (tally?.[field] ?? 0), 0);
  const [passed, failed, skipped] = [sum('passed'), sum('failed'), sum('skipped')];
  return { passed, failed: passed + failed === 0 ? 1 : failed, skipped };
}

export function closingLine({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

export function summaryTable(results: readonly StageResult[]): string {
  const rows = results.map(({ name, seconds, tally }) =>
    tally
      ? [name, `${tally.passed}`, `${tally.failed}`, `${tally.skipped}`, `${seconds.toFixed(1)} s`]
      : [name, '-', '-', '-', 'not run'],
  );
  return [['stage', 'passed', 'failed', 'skipped', 'time'], ...rows]
    .map(([name = '', ...cells]) => name.padEnd(12) + cells.map((cell) => cell.padStart(9)).join(''))
    .join('\n');
}

/** Once more at the end, where it is found without scrolling. */
export function failureList(results: readonly StageResult[]): string {
  return results
    .flatMap(({ name, failures = [], unsteady = [] }) => [
      ...unsteady.map((one) => `\n${name}, unsteady (its file passed the second time): ${one}`),
      ...failures.map((one) => `\n${name}: ${one}`),
    ])
    .join('');
}
