/** A vitest reporter that marks each result in a file as it comes, so that counts survive a crash or an interruption. */
import { appendFileSync } from 'node:fs';
import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from 'vitest/node';
import type { Mark } from './tally.ts';

/** The environment variable that names the file. */
export const TALLY_FILE = 'TEST_TALLY_FILE';

/** Ends a run early but in order: running tests see their signal aborted, and what was set up is taken down. */
export const FINISH_EARLY = 'SIGUSR2';

export class TallyReporter implements Reporter {
  readonly #file = process.env[TALLY_FILE];

  onInit(vitest: Vitest): void {
    process.once(FINISH_EARLY, () => void vitest.cancelCurrentRun('keyboard-input'));
  }

  onTestCaseResult(test: TestCase): void {
    const { state } = test.result();
    if (state !== 'pending') this.#mark(state);
  }

  /** A hook that failed leaves no failed test behind. */
  onTestSuiteResult(suite: TestSuite): void {
    if (suite.errors().length > 0) this.#mark('failed');
  }

  /** Nor does a file that could not be loaded. */
  onTestModuleEnd(module: TestModule): void {
    if (module.errors().length > 0) this.#mark('failed');
  }

  onTestRunEnd(): void {
    this.#mark('end');
  }

  #mark(mark: Mark): void {
    if (this.#file !== undefined) appendFileSync(this.#file, `${mark}\n`);
  }
}

// vitest loads a reporter by its default export.
export default TallyReporter;
