/** Everything that can go wrong between the operator and the API server: nothing is lost, and nothing is left behind. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Churn } from '../support/churn.ts';
import { chosenSeed, type FaultName, FaultProxy, faults, randomFrom } from '../support/fault-proxy/index.ts';
import { stage, until } from '../support/memcacheds.ts';
import { type Figures, shown } from '../support/process-figures.ts';
import { admit, type Patient, recovery, seconds } from '../support/trial.ts';

const at = stage({ name: 'test-faults', form: 'none' });
const SEED = chosenSeed();
const CHANGES = 300;
/** How long a fault lasts. Silence has to be noticed first, and must not end before that. */
const LASTS_S = Number(process.env['FAULT_SECONDS'] ?? 6);
const SILENCE_S = Number(process.env['SILENCE_SECONDS'] ?? 20);

/** After a GOAWAY each watch may go on to its end where it is, for minutes, on a connection that takes nothing new. */
const WATCHES = 10;

const churn = new Churn(at, 30, 0);
const summary: string[] = [];
let proxy: FaultProxy;
let patient: Patient;
let first: Figures;

beforeAll(async () => {
  await at.operator.stop();
  proxy = await FaultProxy.before(at.kubeconfig);
  const kubeconfig = `${at.kubeconfig}-by-proxy`;
  await proxy.writeKubeconfig(at.kubeconfig, kubeconfig);
  patient = await admit(kubeconfig, at.signal);
  at.operator = patient.operator;
  await churn.rage(CHANGES, 5000, SEED, at.signal);
  await recovery(at, churn, at.signal);
  first = await patient.figures();
  console.log(`seed ${SEED} (SEED=${SEED} does it again); before the first fault: ${shown(first)}`);
});

afterEach(() => at.operator.assertAlive());

afterAll(() => {
  console.log(`seed ${SEED}; ${CHANGES} changes each; recovered after:\n${summary.join('\n')}`);
  proxy?.close();
});

for (const [index, name] of (Object.keys(faults) as FaultName[]).entries()) {
  test(`${CHANGES} changes under: ${name}`, async ({ signal }) => {
    const logged = at.operator.logs.length;
    const [calls, harmBefore] = [{ ...proxy.calls }, proxy.harm];
    const begin = Date.now();
    proxy.suffer(name, randomFrom(SEED + index));
    await churn.rage(CHANGES, 1000 * (name === 'silent' ? SILENCE_S : LASTS_S), SEED + index, signal);
    const harm = proxy.harm - harmBefore;
    proxy.heal();
    const { operatorMs, allMs } = await recovery(at, churn, signal);
    const fewHandles = ({ handles }: Figures) => handles <= first.handles + WATCHES;
    const { value: figures } = await until(at, 'handles are let go', () => patient.figures(), fewHandles, signal);
    const lines = at.operator.logs.slice(logged);
    const said = lines.filter(({ level }) => level === 'error').length;
    const { watches, reads, writes } = proxy.calls;
    const asked = `harmed ${harm} times; ${watches - calls.watches} watches, ${reads - calls.reads} reads, ${writes - calls.writes} writes`;
    const notice = lines.find(({ error }) => (error as { reason?: string } | undefined)?.reason === 'silent');
    const noticed = notice ? `; first silence noticed after ${seconds(Date.parse(notice.time) - begin)}` : '';
    const again = `asks again after ${seconds(proxy.askedAgainAfterMs ?? Number.NaN)}`;
    summary.push(`${name.padEnd(15)} operator ${seconds(operatorMs)}, all ${seconds(allMs)}; ${again}${noticed}`);
    console.log(`${summary.at(-1)}; ${asked}; ${said} of ${lines.length} log lines are errors; ${shown(figures)}`);
    expect(await churn.unfinished()).toEqual({ ours: [], theirs: [] });
    expect(harm).toBeGreaterThan(0);
  });
}

test('in the end nothing has piled up', async () => {
  const last = await patient.figures();
  console.log(`before the first fault: ${shown(first)}\nafter the last:         ${shown(last)}`);
  expect(last.heapMB - first.heapMB).toBeLessThan(5);
  expect(last.handles - first.handles).toBeLessThanOrEqual(WATCHES);
});
