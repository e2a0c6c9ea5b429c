import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { assignSlots, type Candidate, type Slots } from './slots.ts';

const ready = { isReady: true, isDeleting: false };
const unready = { isReady: false, isDeleting: false };
const leaving = { isReady: true, isDeleting: true };
const gone = { isReady: false, isDeleting: true };

function pod(
  name: string,
  state: Pick<Candidate, 'isReady' | 'isDeleting'>,
  createdAt = '2026-01-01T00:00:00Z',
): Candidate {
  return { name, ...state, createdAt };
}

const none = undefined;

describe('one step', () => {
  test.each<[string, Slots, Candidate[], number, Slots]>([
    ['nothing', [], [], 0, []],
    ['no pods yet', [], [], 2, [none, none]],
    ['a first pod', [none, none], [pod('a', ready)], 2, ['a', none]],
    ['a pod that is not ready waits', [none], [pod('a', unready)], 1, [none]],
    ['a surge pod waits', ['a'], [pod('a', ready), pod('b', ready)], 1, ['a']],
    ['a pod that leaves hands over', ['a'], [pod('a', leaving), pod('b', ready)], 1, ['b']],
    ['a pod that leaves stays while nobody waits', ['a'], [pod('a', leaving), pod('b', unready)], 1, ['a']],
    [
      'a pod that failed a probe stays while nobody waits',
      ['a', 'b'],
      [pod('a', unready), pod('b', ready)],
      2,
      ['a', 'b'],
    ],
    ['a pod that failed a probe makes room', ['a'], [pod('a', unready), pod('b', ready)], 1, ['b']],
    ['a pod that is gone leaves its slot', ['a', 'b'], [pod('b', ready)], 2, [none, 'b']],
    [
      'the replacement takes the name',
      ['a', 'b', 'c'],
      [pod('a', ready), pod('c', ready), pod('d', ready)],
      3,
      ['a', 'd', 'c'],
    ],
    [
      'an empty slot before one that still leads somewhere',
      ['a', none],
      [pod('a', leaving), pod('b', ready)],
      2,
      ['a', 'b'],
    ],
    [
      'a failed one before a leaving one',
      ['a', 'b'],
      [pod('a', leaving), pod('b', gone), pod('c', ready)],
      2,
      ['a', 'c'],
    ],
    ['more slots', ['a'], [pod('a', ready), pod('b', ready), pod('c', ready)], 3, ['a', 'b', 'c']],
    [
      'fewer slots: the highest go',
      ['a', 'b', 'c'],
      [pod('a', ready), pod('b', ready), pod('c', ready)],
      2,
      ['a', 'b'],
    ],
    [
      'survivors of another choice move down',
      ['a', 'b', 'c'],
      [pod('a', leaving), pod('b', ready), pod('c', ready)],
      2,
      ['c', 'b'],
    ],
    ['none at all', ['a', 'b'], [pod('a', ready), pod('b', leaving)], 0, []],
  ])('%s', (_, previous, pods, count, slots) => {
    expect(assignSlots(previous, pods, count)).toEqual(slots);
  });

  test('the oldest pod is served first', () => {
    const pods = [pod('a', ready, '2026-01-01T00:00:02Z'), pod('b', ready, '2026-01-01T00:00:01Z')];
    expect(assignSlots([], pods, 1)).toEqual(['b']);
    expect(assignSlots([], pods.toReversed(), 1)).toEqual(['b']);
  });
});

const state = fc.constantFrom(ready, unready, leaving, gone);
const crowd = fc.uniqueArray(fc.tuple(fc.constantFrom(...'abcdefghijkl'.split('')), state), {
  selector: ([name]) => name,
});
const history = fc.array(fc.tuple(crowd, fc.integer({ min: 0, max: 8 })), { minLength: 1, maxLength: 12 });

const serves = ({ isReady, isDeleting }: Candidate) => isReady && !isDeleting;

test('whatever happens', () => {
  fc.assert(
    fc.property(history, (steps) => {
      let slots: Slots = [];
      for (const [states, count] of steps) {
        const pods = states.map(([name, one]) => pod(name, one));
        const before = slots;
        slots = assignSlots(before, pods, count);
        const held = slots.filter((name) => name !== undefined);
        const serving = pods.filter(serves);
        const isServing = (name: string | undefined) => serving.some((one) => one.name === name);

        expect(slots).toHaveLength(count);
        expect(new Set(held).size).toBe(held.length); // never two slots for a pod
        expect(held.filter((name) => !pods.some((one) => one.name === name))).toEqual([]); // never one for a ghost
        // Never one that serves without a slot while there is one that nobody serves in.
        expect(slots.filter(isServing)).toHaveLength(Math.min(count, serving.length));
        const old = before.slice(0, count).map((name, slot) => ({ name, now: slots[slot] }));
        // Never moved while it serves and its slot is there.
        expect(old.filter(({ name, now }) => isServing(name) && now !== name)).toEqual([]);
        // Never taken away for nothing: a slot that led to a pod that is still there leads there, or to one that serves.
        const isThere = (name: string | undefined) => pods.some((one) => one.name === name);
        expect(old.filter(({ name, now }) => isThere(name) && now !== name && !isServing(now))).toEqual([]);
        expect(assignSlots(slots, pods, count)).toEqual(slots); // settled
        expect(assignSlots(before, pods.toReversed(), count)).toEqual(slots); // whatever the order
      }
    }),
    { numRuns: 500 },
  );
});

test('a rolling update with one more pod: every name leads to a server at every moment', () => {
  const count = 3;
  let pods = ['a0', 'a1', 'a2'].map((name) => pod(name, ready));
  let slots = assignSlots([], pods, count);
  const see = (now: Candidate[]) => {
    pods = now;
    slots = assignSlots(slots, pods, count);
    for (const name of slots) expect(pods.find((one) => one.name === name)?.isReady).toBe(true);
  };
  for (let round = 0; round < count; round += 1) {
    see([...pods, pod(`b${round}`, unready)]);
    see(pods.map((one) => (one.name === `b${round}` ? pod(one.name, ready) : one)));
    see(pods.map((one) => (one.name === `a${round}` ? pod(one.name, leaving) : one)));
    see(pods.map((one) => (one.name === `a${round}` ? pod(one.name, gone) : one)));
    see(pods.filter((one) => one.name !== `a${round}`));
  }
  expect(slots).toEqual(['b0', 'b1', 'b2']);
});
