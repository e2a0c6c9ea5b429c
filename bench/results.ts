/** What is told at the end: the table, the numbers as JSON, and after a complete run a page and plots in docs/performance. */
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import path from 'node:path';
import { ROOT } from '../test/support/cluster.ts';
import { REPLICAS } from './crowd.ts';
import { isComplete, type Options } from './options.ts';
import { type Plot, plotOf } from './plot.ts';
import { type Row, tableOf } from './rows.ts';
import type { Convergence } from './scenarios/converge.ts';

export interface Results {
  readonly crowds: readonly Convergence[];
  readonly bareNodeMB: number;
  readonly rows: readonly Row[];
}

/** Of a run that came to its end, or of what one had measured until then. Published is only what has all of it. */
export async function tell(results: Results, options: Options, isWhole: boolean): Promise<void> {
  const date = new Date().toISOString();
  const summary = summaryOf(results, options, date);
  process.stdout.write(`\n${summary}\n`);
  const directory = path.join(ROOT, 'bench/results');
  await mkdir(directory, { recursive: true });
  const file = path.join(directory, `${date.replace(/[:.]/g, '-')}.json`);
  const { sources, nodeFlags } = options;
  const all = { date, node: process.version, sources, nodeFlags, isWhole, ...results };
  await writeFile(file, `${JSON.stringify(all, undefined, 2)}\n`);
  process.stdout.write(`written to ${path.relative(process.cwd(), file)}\n`);
  if (!isWhole) process.stdout.write('It ended early: this is what was measured until then.\n');
  else if (isComplete(options)) await publish(results, summary);
}

function summaryOf({ rows, crowds }: Results, { sources, nodeFlags }: Options, date: string): string {
  const how = `${sources ? 'sources' : 'bundle'}, Node ${[process.version, ...nodeFlags].join(' ')}`;
  const machine = `${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GB`;
  const perMemcached = crowds.map(({ count, bySort }) => {
    const sorts = Object.entries(bySort).map(([sort, times]) => `${(times / count).toFixed(2)} ${sort}`);
    return `N = ${count}, per Memcached: ${sorts.join(', ')}`;
  });
  return [
    `${date.slice(0, 10)}, ${machine} for operator, API server, etcd, controllers and nodes together; ${how}.`,
    `Each Memcached has ${REPLICAS} replicas, a budget, a network policy, an exporter, a ServiceMonitor and an autoscaler.`,
    '',
    tableOf(rows),
    '',
    ...perMemcached,
    '',
    'NOT MET: profile.svg and heap.txt in docs/performance show where CPU and memory go; make profile writes them.',
    'unclear: other programs had more than a fifth of the machine, and the measure is one of time or CPU.',
  ].join('\n');
}

async function publish({ crowds }: Results, summary: string): Promise<void> {
  const directory = path.join(ROOT, 'docs/performance');
  await mkdir(directory, { recursive: true });
  const page = `# Results\n\nWritten by \`make bench\`; [README.md](README.md) says what it means.\n\n\`\`\`\n${summary}\n\`\`\`\n`;
  await writeFile(path.join(directory, 'results.md'), page);
  for (const [name, plot] of Object.entries(plotsOf(crowds)))
    await writeFile(path.join(directory, `${name}.svg`), plotOf(plot));
  process.stdout.write(`page and plots written to ${path.relative(process.cwd(), directory)}\n`);
}

function plotsOf(crowds: readonly Convergence[]): Record<string, Plot> {
  const line = (name: string, y: (crowd: Convergence) => number) => ({
    name,
    points: crowds.map((crowd) => ({ x: crowd.count, y: y(crowd) })),
  });
  return {
    time: {
      title: 'Until all are there',
      unit: 's',
      lines: [
        line('all ready', ({ readyMs }) => readyMs / 1000),
        line('all children', ({ childrenMs }) => childrenMs / 1000),
        line('all children, bare client', ({ floor }) => floor.childrenMs / 1000),
      ],
    },
    cpu: {
      title: 'CPU per Memcached',
      unit: 'ms',
      lines: [line('operator', ({ cpuMs, count }) => cpuMs / count), line('bare client', ({ floor }) => floor.cpuMs)],
    },
    memory: {
      title: 'Memory',
      unit: 'MB',
      lines: [line('at its peak', ({ peakMB }) => peakMB), line('settled', ({ settledMB }) => settledMB)],
    },
  };
}
