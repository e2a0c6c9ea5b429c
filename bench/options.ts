/** What the benchmark is told on its command line. */
import { parseArgs } from 'node:util';
import { Problem } from '../devcluster/problem.ts';
import { MODEST } from './operator.ts';

export const HELP = `Usage: node bench/main.ts [options]

Measures the operator on a cluster of its own with simulated nodes: how long it takes, what it asks of the API,
what it costs in CPU and memory, and what a bare client needs for the same objects in the same run.

Options:
  --count <n>         how many Memcacheds (default: 200)
  --sources           run the sources of the operator as they are, instead of the bundled file
  --node-flags <f>    flags for the operator's Node, e.g. "--cpu-prof"
                      (default: ${MODEST.flags.join(' ')})
  --keep              leave the cluster running, for another run that starts faster
  --help              this text

The numbers are also written to bench/results/, as JSON. Seconds depend on the machine and on what else runs there:
compare ratios of one run.
`;

export interface Options {
  readonly count: number;
  readonly sources: boolean;
  readonly nodeFlags: readonly string[];
  readonly keep: boolean;
}

export function readOptions(args: readonly string[]): Options | 'help' {
  const values = parse(args);
  if (values.help) return 'help';
  return {
    count: countOf(values.count),
    sources: values.sources,
    nodeFlags: values['node-flags'].split(' ').filter((flag) => flag !== ''),
    keep: values.keep,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        count: { type: 'string', default: '200' },
        sources: { type: 'boolean', default: false },
        'node-flags': { type: 'string', default: MODEST.flags.join(' ') },
        keep: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    throw new Problem(error instanceof Error ? error.message : String(error), 'See --help.');
  }
}

function countOf(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count > 0 && count <= 10_000) return count;
  throw new Problem(`"${text}" is no number of Memcacheds.`, 'Use a whole number from 1 to 10000.');
}
