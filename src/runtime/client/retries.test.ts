/** What is asked again, how often, and after which pause. */
import { expect, test } from 'vitest';
import { ApiError, ConnectionLost, type LossReason } from './errors.ts';
import { pauseAfter } from './retries.ts';

const lost = (reason: LossReason) => new ConnectionLost(reason, '');
const answer = (status: number, retryAfter?: number) => new ApiError(status, {}, retryAfter);

/** The pauses until it gives up, or until nobody would believe it any more. */
function pauses(error: unknown, isRead: boolean, random: number): number[] {
  const history = { refused: 0, lost: 0, unauthorized: 0, busy: 0 };
  const found: number[] = [];
  for (let pause = 0; found.length < 100; ) {
    const next = pauseAfter(error, isRead, history, () => random);
    if (next === undefined) return found;
    pause = next;
    found.push(pause);
  }
  return found;
}

test.for([
  { name: 'a refused stream', error: lost('refused'), reads: [100, 200, 400], writes: [100, 200, 400] },
  { name: 'a broken connection', error: lost('closed'), reads: [100], writes: [] },
  { name: 'a silent peer', error: lost('silent'), reads: [100], writes: [] },
  { name: 'no connection', error: lost('unreachable'), reads: [], writes: [] },
  { name: 'no answer in time', error: lost('timeout'), reads: [], writes: [] },
  { name: 'rubbish', error: lost('garbled'), reads: [], writes: [] },
  { name: 'unknown credentials', error: answer(401), reads: [0], writes: [0] },
  { name: 'busy', error: answer(429, 2), reads: Array(5).fill(2600), writes: Array(5).fill(2600) },
  { name: 'busy, until who knows', error: answer(429), reads: Array(5).fill(1350), writes: Array(5).fill(1350) },
  { name: 'busy for long', error: answer(429, 31), reads: [], writes: [] },
  { name: 'away for a while', error: answer(503, 1), reads: Array(5).fill(1350), writes: [] },
  { name: 'away', error: answer(503), reads: [], writes: [] },
  { name: 'a conflict', error: answer(409), reads: [], writes: [] },
  { name: 'a fault of the server', error: answer(500, 1), reads: [], writes: [] },
  { name: 'a mistake of ours', error: new TypeError('x'), reads: [], writes: [] },
])('$name: reads $reads, writes $writes', ({ error, reads, writes }) => {
  expect(pauses(error, true, 1)).toEqual(reads);
  expect(pauses(error, false, 1)).toEqual(writes);
});

test('never earlier than the server asks', () => {
  expect(pauses(answer(429, 2), false, 0)).toEqual(Array(5).fill(2000));
});
