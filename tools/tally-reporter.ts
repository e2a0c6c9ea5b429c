/** A vitest reporter that marks each result in a file as it comes, so that counts survive a crash or an interruption. */
import { appendFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
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
    const { state, errors = [] } = test.result();
    if (state === 'failed') this.#markFailed(`${test.module.relativeModuleId} > ${test.fullName}`, errors);
    else if (state !== 'pending') this.#mark(state, ` ${test.module.relativeModuleId}`);
  }

  /** A hook that failed leaves no failed test behind. */
  onTestSuiteResult(suite: TestSuite): void {
    if (suite.errors().length > 0)
      this.#markFailed(`${suite.module.relativeModuleId} > ${suite.fullName}`, suite.errors());
  }

  /** Nor does a file that could not be loaded. The tests of one that is skipped as a whole say nothing themselves. */
  onTestModuleEnd(module: TestModule): void {
    if (module.state() === 'skipped')
      for (const test of module.children.allTests())
        if (test.result().state === 'pending') this.#mark('skipped', ` ${module.relativeModuleId}`);
    if (module.errors().length > 0) this.#markFailed(module.relativeModuleId, module.errors());
  }

  onTestRunEnd(): void {
    this.#mark('end');
  }

  #markFailed(name: string, errors: readonly { readonly message: string }[]): void {
    const [firstLine = ''] = stripVTControlCharacters(errors[0]?.message ?? '').split('\n');
    this.#mark('failed', ` ${name}: ${firstLine}`);
  }

  #mark(mark: Mark, about = ''): void {
    if (this.#file !== undefined) appendFileSync(this.#file, `${mark}${about}\n`);
  }
}

// vitest loads a reporter by its default export.
export default TallyReporter;
