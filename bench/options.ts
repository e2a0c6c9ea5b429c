/** What the benchmark is told on its command line. */
import { modestNode } from '../deploy/image.ts';
import { readArguments } from '../devcluster/command-line.ts';
import { Problem } from '../devcluster/problem.ts';

export const SCENARIOS = ['settled', 'restart', 'noise', 'storm', 'latency', 'admission', 'gathering', 'soak'] as const;
export type ScenarioName = (typeof SCENARIOS)[number];

export const HELP = `Usage: node bench/main.ts [options]

Measures the operator on clusters of its own with simulated nodes: how long it takes, what it asks of the API,
what it costs in CPU and memory, and what a bare client needs for the same objects in the same run.

Options:
  --full              the largest crowd, and half an hour of changes
  --count <n>         one crowd of so many Memcacheds, instead of several sizes
  --only <a,b,…>      only these scenarios after the crowd has come: ${SCENARIOS.join(', ')}; none
  --sources           run the sources of the operator as they are, instead of the bundled file
  --node-flags=<f>    flags for the operator's Node, e.g. "--cpu-prof"
                      (default: ${modestNode.flags.join(' ')})
  --help              this text

The numbers are also written to bench/results/, as JSON, even if it ends early; those of all scenarios in all sizes to docs/performance/ as well.
Seconds depend on the machine and on what else runs there: compare ratios of one run.
`;

export interface Options {
  readonly isFull: boolean;
  /** Instead of the usual sizes. */
  readonly count: number | undefined;
  /** All of them, unless some are named. */
  readonly only: readonly ScenarioName[] | undefined;
  readonly sources: boolean;
  readonly nodeFlags: readonly string[];
}

/** All sizes, and all scenarios. */
export function isComplete({ count, only }: Options): boolean {
  return count === undefined && only === undefined;
}

export function readOptions(args: readonly string[]): Options | 'help' {
  const { values } = readArguments({
    args,
    options: {
      full: { type: 'boolean', default: false },
      count: { type: 'string' },
      only: { type: 'string' },
      sources: { type: 'boolean', default: false },
      'node-flags': { type: 'string', default: modestNode.flags.join(' ') },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return 'help';
  return {
    isFull: values.full,
    count: values.count === undefined ? undefined : countOf(values.count),
    only: values.only === undefined ? undefined : namesIn(values.only),
    sources: values.sources,
    nodeFlags: values['node-flags'].split(' ').filter((flag) => flag !== ''),
  };
}

export function countOf(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count > 0 && count <= 10_000) return count;
  throw new Problem(`"${text}" is no number of Memcacheds.`, 'Use a whole number from 1 to 10000.');
}

function namesIn(text: string): ScenarioName[] {
  if (text === 'none') return [];
  return text.split(',').map((name) => {
    const known = SCENARIOS.find((one) => one === name);
    if (known) return known;
    throw new Problem(`There is no scenario "${name}".`, `Use some of ${SCENARIOS.join(',')}, or none.`);
  });
}
