/** Whatever happens to processes and lines, and though no two clocks agree: never do two lead at once, and in the end one does. */
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ManualClock } from '../manual-clock.ts';
import { type Fate, LeaseServer } from './lease-server.ts';
import { Replica } from './replica.ts';

const STEP_MS = 200;

function scene(rates: readonly number[], random: () => number) {
  const world = new ManualClock();
  const server = new LeaseServer();
  const replicas = rates.map((rate, index) => new Replica({ world, server, name: `r${index}`, rate, random }));
  const leading = () => replicas.filter(({ elector }) => elector.isLeading);
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= STEP_MS) {
      world.advance(STEP_MS);
      await turn();
      expect(leading().length).toBeLessThanOrEqual(1);
    }
  };
  return { server, replicas, leading, pass };
}

const rate = fc.double({ min: 0.95, max: 1.05, noNaN: true });
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const target = fc.constantFrom<'leader' | 0 | 1 | 2>('leader', 'leader', 'leader', 0, 1, 2);
const fate = fc.constantFrom<Fate>('arrives', 'breaks', 'vanishes');
const event = fc.record({
  do: fc.constantFrom('stop', 'goOn', 'kill', 'release', 'disturb', 'setTime'),
  target,
  request: fate,
  answer: fate,
  wrongMs: fc.integer({ min: 0, max: 2e9 }),
  waitMs: fc.constantFrom(200, 1000, 3000, 8000, 20_000),
});
type Event = typeof event extends fc.Arbitrary<infer Value> ? Value : never;

async function happen(what: Event, replica: Replica): Promise<void> {
  if (what.do === 'stop') replica.stop();
  else if (what.do === 'goOn') await replica.goOn();
  else if (what.do === 'kill') replica.restart();
  else if (what.do === 'setTime') replica.wrongMs = what.wrongMs;
  else if (what.do === 'disturb') Object.assign(replica.line, { request: what.request, answer: what.answer });
  else void replica.elector.release().then(() => replica.restart());
}

test('never two at once, and one in the end', { timeout: 120_000 }, async () => {
  let handovers = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(event, { maxLength: 30, size: 'max' }),
      fc.tuple(rate, rate, rate),
      fc.infiniteStream(chance),
      async (events, rates, chances) => {
        const { server, replicas, leading, pass } = scene(rates, () => chances.next().value);
        await pass(5000);
        for (const one of events) {
          const concerned = one.target === 'leader' ? leading()[0] : replicas[one.target];
          if (concerned) await happen(one, concerned);
          await pass(one.waitMs);
        }
        for (const one of replicas) {
          Object.assign(one.line, { request: 'arrives', answer: 'arrives' });
          await one.goOn();
        }
        await pass(40_000);
        expect(leading()).toHaveLength(1);
        handovers += server.lease?.spec?.leaseTransitions ?? 0;
      },
    ),
    { numRuns: 25 },
  );
  console.log(`the Lease changed hands ${handovers} times`);
  expect(handovers).toBeGreaterThan(0);
});

test('a leader that was stopped, at whatever moment, asks nothing when it goes on', async () => {
  for (let moment = 0; moment < 5000; moment += STEP_MS) {
    const { leading, pass } = scene([1, 1], () => 0.5);
    await pass(10_000 + moment);
    const [leader] = leading() as [Replica];
    const { elector, sent } = leader;
    const { length } = sent;
    leader.stop();
    await pass(60_000);
    expect(leading()).toHaveLength(1);
    expect(leading()).not.toContain(leader);
    await leader.goOn();
    expect(elector.isLeading).toBe(false);
    await pass(1000);
    expect(leader.elector).not.toBe(elector); // it has ended
    expect(sent.slice(length)).toEqual([]);
  }
});
