/** The stages of a test run, in their order. */
import { FINISH_EARLY } from './tally-reporter.ts';

export interface Stage {
  readonly name: string;
  readonly about: string;
  readonly command: readonly [program: string, ...args: string[]];
  /** Whether it reports the tests that it ran; otherwise the stage counts as one. */
  readonly countsTests: boolean;
  /** Where files that fail are run once more, and both results told, the argument by which they are alone: real servers on a busy machine have bad moments. */
  readonly secondTry?: string;
  /** The signal that asks it to end. */
  readonly stopSignal: NodeJS.Signals;
}

const ALONE = '--maxWorkers=1';

/** Built before the tests, which would have to share the machine with their compilers otherwise. */
const TOOLS = ['chainsaw', 'helm', 'kustomize', 'operator-verify', 'opm', 'prom2json', 'promtool'];

export const stages: readonly Stage[] = [
  check('format', 'formatting and the order of imports', 'biome', 'check'),
  check('lint', 'mistakes, floating promises among them', 'oxlint'),
  check('types', 'the TypeScript compiler', 'tsc'),
  check('imports', 'which room may import which', 'node', 'tools/import-rules.ts'),
  tests('unit', 'the tests beside the source'),
  check('build', 'the parts of the clusters that the tests start', 'node', 'devcluster/main.ts', 'build'),
  check('tools', 'the programs that the tests run', 'node', 'devcluster/main.ts', 'program', ...TOOLS),
  { ...tests('integration', 'the tests against a real API server'), secondTry: ALONE },
  { ...tests('e2e', 'the tests against real nodes'), secondTry: ALONE },
];

function check(name: string, about: string, ...command: Stage['command']): Stage {
  return { name, about, command, countsTests: false, stopSignal: 'SIGINT' };
}

function tests(name: string, about: string): Stage {
  const reporters = ['--reporter=default', '--reporter=./tools/tally-reporter.ts'];
  return {
    name,
    about,
    command: ['vitest', 'run', '--project', name, ...reporters],
    countsTests: true,
    stopSignal: FINISH_EARLY,
  };
}
