/** Where the time and the memory of the operator go while a crowd arrives: a flame graph and a summary of the heap. */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { modestNode } from '../deploy/image.ts';
import { run } from '../devcluster/command.ts';
import { readArguments, runCommandLine } from '../devcluster/command-line.ts';
import { Problem } from '../devcluster/problem.ts';
import { ROOT } from '../test/support/cluster.ts';
import { countOf } from './options.ts';
import { type CpuProfile, flameGraphOf, hottest } from './profiles/flame-graph.ts';
import { type HeapSnapshot, heapSummary } from './profiles/heap.ts';
import { say } from './progress.ts';
import { converge } from './scenarios/converge.ts';
import { onFreshSite } from './site.ts';

/** What Node writes, to be looked at with other tools, too. */
const DIRECTORY = path.join(ROOT, 'bench/results/profile');
/** What is made of it. */
const PAGES = path.join(ROOT, 'docs/performance');
const SNAPSHOT_SIGNAL = 'SIGUSR2';
const MOST_LINES = 30;
/** How seldom Node looks where it is: what it has seen has to be written in the time that it has to stop, and thousands take a quarter of an hour. */
const INTERVAL_US_PER_MEMCACHED = 2;

const HELP = `Usage: node bench/profile.ts [--count <n>]

Shows where CPU and memory of the operator go while so many Memcacheds arrive (default: 500), on a cluster of its own:
a flame graph, profile.svg, and the heap, heap.txt, both in docs/performance.
`;

async function main(args: readonly string[], signal: AbortSignal): Promise<void> {
  const { values } = readArguments({
    args,
    options: {
      count: { type: 'string', default: '500' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return void process.stdout.write(HELP);
  const count = countOf(values.count);
  say((await run(process.execPath, ['tools/bundle.ts'], { cwd: ROOT, signal })).trim());
  await rm(DIRECTORY, { recursive: true, force: true });
  await mkdir(DIRECTORY, { recursive: true });
  const interval = `--cpu-prof-interval=${Math.max(1000, INTERVAL_US_PER_MEMCACHED * count)}`;
  const watching = ['--cpu-prof', interval, `--heapsnapshot-signal=${SNAPSHOT_SIGNAL}`];
  const options = { sources: false, nodeFlags: [...modestNode.flags, ...watching], directory: DIRECTORY };
  await onFreshSite(options, count, signal, async (site) => {
    const operator = await site.startOperator();
    const scene = { site, operator, namespace: 'bench-crowd', count, isReference: false, signal };
    await converge(scene, { memcachedsMs: 0, childrenMs: 0, cpuMs: 0, others: 0 });
    operator.signal(SNAPSHOT_SIGNAL);
    let snapshot = await written<HeapSnapshot>('.heapsnapshot');
    for (; !snapshot; snapshot = await written('.heapsnapshot')) await sleep(500, undefined, { signal });
    await operator.stop();
    const profile = await written<CpuProfile>('.cpuprofile');
    if (!profile)
      throw new Problem('Node could not write the profile in the time that it has to stop.', 'Use a smaller --count.');
    await tell(count, profile, snapshot);
  });
}

/** What Node has written, if it is whole. */
async function written<T>(ending: string): Promise<T | undefined> {
  const name = (await readdir(DIRECTORY)).find((one) => one.endsWith(ending));
  const text = name === undefined ? '' : await readFile(path.join(DIRECTORY, name), 'utf8');
  return text.trimEnd().endsWith('}') ? (JSON.parse(text) as T) : undefined;
}

async function tell(count: number, profile: CpuProfile, snapshot: HeapSnapshot): Promise<void> {
  const title = `the operator, while ${count} Memcacheds arrive`;
  const heap = heapSummary(snapshot, MOST_LINES);
  const files = { 'profile.svg': flameGraphOf(profile, title), 'heap.txt': heap };
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(PAGES, name), text);
  process.stdout.write(`\nCPU: ${title}\n${hottest(profile, MOST_LINES)}\n\nHeap, when settled\n${heap}\n`);
  process.stdout.write(`written to ${path.relative(process.cwd(), PAGES)}: ${Object.keys(files).join(', ')}\n`);
}

await runCommandLine((signal) => main(process.argv.slice(2), signal));
