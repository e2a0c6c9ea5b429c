/** Hours of changes and faults in a few minutes: at the end the operator is as it was in the beginning. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Churn } from '../support/churn.ts';
import { chosenSeed, type FaultName, FaultProxy, faults, randomFrom } from '../support/fault-proxy/index.ts';
import { stage, until } from '../support/memcacheds.ts';
import { letRead, newAccount, scrape, totalOf } from '../support/metrics.ts';
import { type Figures, shown } from '../support/process-figures.ts';
import { type Slope, slopeOf } from '../support/slope.ts';
import { admit, type Patient, recovery, seconds } from '../support/trial.ts';

const at = stage({ name: 'test-soak', form: 'none' });
const SEED = chosenSeed();
const MINUTES = Number(process.env['SOAK_MINUTES'] ?? 10);
const MEMCACHEDS = 30;
/** Of each round: so many changes while something is wrong, for at most so long. */
const CHANGES = 100;
const LASTS_MS = 10_000;
const FAULTS = Object.keys(faults) as FaultName[];
/** What V8 compiles for speed, it compiles for as long as it finds functions that are worth it; what is looked for here is data that stays. */
const DATA_ONLY = ['--no-opt', '--no-maglev', '--no-sparkplug'];

interface Sample extends Figures {
  readonly minutes: number;
}

const churn = new Churn(at, MEMCACHEDS, 0);
let proxy: FaultProxy;
let patient: Patient;
let token: string;

beforeAll(async () => {
  await at.operator.stop();
  proxy = await FaultProxy.before(at.kubeconfig);
  await proxy.writeKubeconfig(at.kubeconfig, `${at.kubeconfig}-by-proxy`);
  patient = await admit(`${at.kubeconfig}-by-proxy`, at.signal, [], DATA_ONLY);
  at.operator = patient.operator;
  token = await newAccount(at.cluster, 'soak');
  await letRead(at.cluster, 'soak');
});

afterAll(() => proxy?.close());

/** One thing goes wrong while changes are made; then all is well for a while, and it is looked at. */
async function round(name: FaultName, seed: number, signal: AbortSignal): Promise<Figures & { slowestMs: number }> {
  proxy.suffer(name, randomFrom(seed));
  await churn.rage(CHANGES, LASTS_MS, seed, signal);
  proxy.heal();
  const { operatorMs } = await recovery(at, churn, signal);
  await churn.complete(); // the same number each time, or memory could not be compared
  await recovery(at, churn, signal);
  return { ...(await patient.figures()), slowestMs: operatorMs };
}

/** The resources that wait for a worker, by the operator's own metrics. */
async function queued(): Promise<number> {
  const { status, text } = await scrape(at.operator.metricsPort, { token });
  if (status !== 200) throw new Error(`no metrics: ${status} ${text.slice(0, 200)}`);
  return totalOf(text, 'workqueue_depth');
}

/** Every fault once, in an order that the dice decide, then again every one: whatever comes later has been met before. */
function* inTurns(names: readonly FaultName[], random: () => number): Generator<FaultName, never> {
  for (;;)
    yield* names
      .map((name) => ({ name, rank: random() }))
      .toSorted((a, b) => a.rank - b.rank)
      .map(({ name }) => name);
}

const perHour = ({ value, margin }: Slope) => `${(value * 60).toFixed(2)} ± ${(margin * 60).toFixed(2)} per hour`;

test(`${MINUTES} minutes of changes and faults`, { timeout: (MINUTES + 15) * 60_000 }, async ({ signal }) => {
  console.log(`seed ${SEED} (SEED=${SEED} does it again)`);
  const names = inTurns(FAULTS, randomFrom(SEED));
  const begin = performance.now();
  const minutes = () => (performance.now() - begin) / 60_000;
  const samples: Sample[] = [];
  while (minutes() < MINUTES || samples.length < 2 * FAULTS.length) {
    const name = names.next().value;
    const { slowestMs, ...figures } = await round(name, SEED + samples.length, signal);
    samples.push({ minutes: minutes(), ...figures });
    const now = `${minutes().toFixed(1)} of ${MINUTES} min`;
    console.log(`${now}: ${name.padEnd(14)} recovered after ${seconds(slowestMs)}; ${shown(figures)}`);
  }
  const late = samples.slice(FAULTS.length); // the first time that a fault happens, its code is compiled, and stays
  const slope = (of: (sample: Sample) => number) =>
    slopeOf(late.map((sample) => ({ x: sample.minutes, y: of(sample) })));
  const [heap, resident, handles] = [slope((s) => s.heapMB), slope((s) => s.residentMB), slope((s) => s.handles)];
  console.log(`${samples.length} rounds, ${samples.length * CHANGES} changes, ${proxy.calls.writes} writes of the operator
since every fault was there once:
live MB     ${perHour(heap)}
resident MB ${perHour(resident)}
handles     ${perHour(handles)}`);

  const idle = await until(at, 'the queue is empty', queued, (depth) => depth === 0, signal);
  await sleep(2000);
  console.log(`the queue is empty after ${seconds(idle.ms)}, and holds ${await queued()} two seconds later`);
  expect(heap.value - heap.margin).toBeLessThanOrEqual(0);
  expect(handles.value - handles.margin).toBeLessThanOrEqual(0);
  expect(await churn.unfinished()).toEqual({ ours: [], theirs: [] });
});
