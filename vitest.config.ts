/** Tests beside the source, against a real API server, against real nodes; with cert-manager; and for as long as one likes. */
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './tools/longest-first.ts';

/** On a busy machine they take their time; a test that hangs still ends. */
const unit = { maxWorkers: 2, testTimeout: 60_000 };

/** Tests that start real servers: one file after another. */
const real = {
  maxWorkers: 1,
  testTimeout: 600_000,
  hookTimeout: 600_000,
  setupFiles: ['test/support/evidence.ts'],
};

/** Several files at a time, each with clusters of its own: most of their time is waiting. */
const control = { ...real, maxWorkers: 3, sequence: { groupOrder: 1 } };
/** A cluster with nodes takes a fifth of all that may watch files, of which Linux lets a user have 128, and some files start two. */
const nodes = { ...real, maxWorkers: 2, sequence: { groupOrder: 2 } };

/** Somebody's cluster, for the end-to-end tests that can do with one. */
const elsewhere = process.env['E2E_KUBECONFIG'] ? { runner: 'test/support/elsewhere-runner.ts', maxWorkers: 1 } : {};

/** Asked for by FULL=1. */
const long = process.env['FULL'] ? [] : ['test/e2e/autoscaling.test.ts'];

export default defineConfig({
  test: {
    watch: false,
    teardownTimeout: 120_000,
    sequence: { sequencer: LongestFirst },
    projects: [
      { test: { name: 'unit', include: ['{src,devcluster,deploy,tools,bench,test/support}/**/*.test.ts'], ...unit } },
      { test: { name: 'integration', include: ['test/integration/**/*.test.ts'], ...control } },
      { test: { name: 'e2e', include: ['test/e2e/**/*.test.ts'], exclude: long, ...nodes, ...elsewhere } },
      { test: { name: 'cert-manager', include: ['test/cert-manager/**/*.test.ts'], ...real } },
      { test: { name: 'soak', include: ['test/soak/**/*.test.ts'], ...real } },
    ],
  },
});
