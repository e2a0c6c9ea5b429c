/** Many delays behind one timer, against a list that is searched each time. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ManualClock } from '../manual-clock.ts';
import { Delays } from './delays.ts';

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('set' as const), key, at: fc.nat(100) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), key }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.nat(30) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('clear' as const) }) },
);

test('every key comes once, at the time that was last said for it, the earliest first', () => {
  const schedule = fc.array(step, { maxLength: 200, size: 'max' });
  fc.assert(
    fc.property(schedule, (steps) => {
      const clock = new ManualClock();
      const came: { key: string; at: number }[] = [];
      const delays = new Delays<number>((name, at) => came.push({ key: name, at }), clock);
      const planned = new Map<string, number>();
      const due: { key: string; at: number }[] = [];
      for (const action of steps) {
        if (action.do === 'set') {
          const at = clock.now() + action.at;
          delays.set(action.key, at, at);
          planned.set(action.key, at);
        } else if (action.do === 'delete') {
          delays.delete(action.key);
          planned.delete(action.key);
        } else if (action.do === 'clear') {
          delays.clear();
          planned.clear();
        } else {
          clock.advance(action.ms);
          const isDue = (at: number) => at <= clock.now();
          due.push(...[...planned].filter(([, at]) => isDue(at)).map(([name, at]) => ({ key: name, at })));
          for (const [name, at] of planned) if (isDue(at)) planned.delete(name);
        }
        expect(delays.size).toBe(planned.size);
        expect(clock.timers).toBeLessThanOrEqual(1);
      }
      const inOrder = (list: typeof came) => list.toSorted((a, b) => a.at - b.at || a.key.localeCompare(b.key));
      expect(came.map(({ at }) => at)).toEqual(came.map(({ at }) => at).toSorted((a, b) => a - b));
      expect(inOrder(came)).toEqual(inOrder(due));
    }),
  );
});

test('what falls due may plan again', () => {
  const clock = new ManualClock();
  const came: number[] = [];
  const delays: Delays<undefined> = new Delays((name) => {
    came.push(clock.now());
    delays.set(name, clock.now() + 10, undefined);
  }, clock);
  delays.set('a', 5, undefined);
  clock.advance(30);
  expect(came).toEqual([5, 15, 25]);
});

test('a key that gets a new time again and again leaves little behind', () => {
  const clock = new ManualClock();
  let timersSet = 0;
  const counting = { now: () => clock.now(), after: (...args: Parameters<ManualClock['after']>) => set(...args) };
  const set: ManualClock['after'] = (...args) => {
    timersSet += 1;
    return clock.after(...args);
  };
  const delays = new Delays<undefined>(() => expect.unreachable(), counting);
  for (let round = 0; round < 10_000; round += 1) delays.set('a', 1000 + round, undefined);
  delays.delete('a');
  clock.advance(20_000);
  expect(timersSet).toBeLessThan(300); // one for each outdated entry
  expect(clock.timers).toBe(0);
});

test('cleared, it has no timer', () => {
  const clock = new ManualClock();
  const delays = new Delays<undefined>(() => expect.unreachable(), clock);
  delays.set('a', 10, undefined);
  delays.clear();
  expect([delays.size, clock.timers]).toEqual([0, 0]);
});
