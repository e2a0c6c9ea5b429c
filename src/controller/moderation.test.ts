import { expect, test } from 'vitest';
import { example } from '../children/example.ts';
import { ManualClock } from '../runtime/manual-clock.ts';
import type { Happening } from './events.ts';
import { moderated } from './moderation.ts';

const happening: Happening = { type: 'Normal', reason: 'Updated', note: 'Updated Service', action: 'Reconcile' };

test('so many at once are told of each, and then one now and then', () => {
  const told: string[] = [];
  const clock = new ManualClock();
  const record = moderated(({ metadata: { uid = '' } }) => void told.push(uid), clock);
  const storm = (uid: string) => {
    const before = told.length;
    for (let count = 0; count < 100; count += 1) record(example({}, { uid }), happening);
    return told.length - before;
  };
  expect([storm('one'), storm('other')]).toEqual([25, 25]);
  clock.advance(9_999);
  expect(storm('one')).toBe(0);
  clock.advance(1);
  expect(storm('one')).toBe(1);
  clock.advance(100_000);
  expect(storm('one')).toBe(10);
  clock.advance(10_000_000);
  expect([storm('new'), storm('one'), storm('other')]).toEqual([25, 25, 25]);
});
