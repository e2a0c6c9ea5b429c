/** Runs the tests on the cluster of E2E_KUBECONFIG: those of files that start clusters of their own are skipped, and say so. */
import { readFileSync } from 'node:fs';
import { type RunnerTask, type RunnerTestFile, TestRunner } from 'vitest';

class ElsewhereRunner extends TestRunner {
  onCollected(files: RunnerTestFile[]): void {
    for (const file of files) {
      if (readFileSync(file.filepath, 'utf8').includes('/support/deployed.ts')) continue;
      console.log(`${file.name} needs the embedded cluster: skipped`);
      skip(file);
    }
  }
}

function skip(task: RunnerTask): void {
  task.mode = 'skip';
  if (task.type === 'suite') for (const one of task.tasks) skip(one);
}

// vitest loads a runner by its default export.
export default ElsewhereRunner;
