/** The benchmark: the operator and a bare client do the same on clusters of their own, and both are measured. */
import { run } from '../devcluster/command.ts';
import { runCommandLine } from '../devcluster/command-line.ts';
import { ROOT } from '../test/support/cluster.ts';
import { measureBareNode, measureFloor } from './floor.ts';
import { HELP, isComplete, type Options, readOptions } from './options.ts';
import { say } from './progress.ts';
import { type Results, tell } from './results.ts';
import { type Row, tableOf } from './rows.ts';
import type { Scenario, Scene } from './scenario.ts';
import { admission } from './scenarios/admission.ts';
import { type Convergence, converge, rowsOf, together } from './scenarios/converge.ts';
import { gathering } from './scenarios/gathering.ts';
import { latency } from './scenarios/latency.ts';
import { noise } from './scenarios/noise.ts';
import { restart } from './scenarios/restart.ts';
import { settled } from './scenarios/settled.ts';
import { soak } from './scenarios/soak.ts';
import { storm } from './scenarios/storm.ts';
import { onFreshSite } from './site.ts';

/** The size that the budgets speak of. */
const REFERENCE = 500;
const SIZES = [100, REFERENCE, 2000];
const LARGEST = 5000;

/** A machine is faster in one moment than in another: that size comes several times, each time with the bare client before it. */
const TIMES = 2;

/** In their order: what fills the cluster comes late. */
const scenarios: readonly Scenario[] = [settled, restart, storm, soak, latency, gathering, noise, admission];

/** Grows as it goes, so that what was measured is not lost when it ends early. */
interface Measured {
  /** The size that budgets speak of, or the only one. */
  readonly reference: number;
  readonly bareNodeMB: number;
  /** By their size. */
  readonly crowds: Map<number, Convergence>;
  readonly rows: Row[];
}

async function main(args: readonly string[], signal: AbortSignal): Promise<void> {
  const options = readOptions(args);
  if (options === 'help') return void process.stdout.write(HELP);
  if (!options.sources) say((await run(process.execPath, ['tools/bundle.ts'], { cwd: ROOT, signal })).trim());
  const sizes = options.count === undefined ? [...SIZES, ...(options.isFull ? [LARGEST] : [])] : [options.count];
  const reference = options.count ?? REFERENCE;
  const measured: Measured = { reference, bareNodeMB: await measureBareNode(), crowds: new Map(), rows: [] };
  try {
    for (const count of sizes) await measure(count, { isLargest: count === sizes.at(-1), options, measured, signal });
  } catch (error) {
    if (measured.crowds.size > 0)
      await tell(resultsOf(measured), options, false).catch((other: unknown) => say(`not told: ${String(other)}`));
    throw error;
  }
  await tell(resultsOf(measured), options, true);
}

interface Circumstances {
  readonly isLargest: boolean;
  readonly options: Options;
  readonly measured: Measured;
  readonly signal: AbortSignal;
}

/** One size: the bare client, then the operator, and what happens to its crowd. */
async function measure(count: number, { isLargest, options, measured, signal }: Circumstances): Promise<void> {
  const { reference, bareNodeMB, crowds, rows } = measured;
  const isReference = count === reference;
  const roles = { reference: isReference, largest: isLargest };
  const chosen = scenarios.filter((one) => one.crowds.some((role) => roles[role]) && isWanted(one, options));
  const arrivals: Convergence[] = [];
  const times = isReference && isComplete(options) ? TIMES : 1;
  for (let left = times; left > 0; left -= 1) {
    const floor = await onFreshSite(options, count, signal, (site) => measureFloor(site, count, signal));
    await onFreshSite(options, count, signal, async (site) => {
      const operator = await site.startOperator();
      const scene: Scene = { site, operator, namespace: 'bench-crowd', count, isReference, signal };
      const crowd = await converge(scene, floor);
      arrivals.push(crowd);
      crowds.set(count, together(arrivals));
      process.stdout.write(`${tableOf(rowsOf(crowd, isReference ? crowd : crowds.get(reference), bareNodeMB))}\n`);
      if (left > 1) return;
      for (const scenario of chosen) rows.push(...(await attempt(scenario, scene)));
    });
  }
}

function resultsOf({ reference, bareNodeMB, crowds, rows }: Measured): Results {
  const ofCrowds = [...crowds.values()].flatMap((crowd) => rowsOf(crowd, crowds.get(reference), bareNodeMB));
  return { crowds: [...crowds.values()], bareNodeMB, rows: [...ofCrowds, ...rows] };
}

/** Says at once what was found. One scenario that fails does not take the others with it. */
async function attempt(scenario: Scenario, scene: Scene): Promise<readonly Row[]> {
  try {
    const rows = await scenario.measure(scene);
    process.stdout.write(`${tableOf(rows)}\n`);
    return rows;
  } catch (error) {
    scene.signal.throwIfAborted();
    const what = `not measured: ${error instanceof Error ? error.message : String(error)}`;
    say(`${scenario.name}: ${what}`);
    return [{ scenario: scenario.name, what, measured: Number.NaN, verdict: 'unclear' }];
  }
}

function isWanted({ name, onlyFull }: Scenario, { only, isFull }: Options): boolean {
  return only ? only.includes(name) : !onlyFull || isFull;
}

await runCommandLine((signal) => main(process.argv.slice(2), signal));
