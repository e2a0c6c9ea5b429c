/** When a peer counts as gone, on a clock of our own. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchPeer } from './liveness.ts';

beforeEach(
  () =>
    void vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval'] }),
);
afterEach(() => void vi.useRealTimers());

/** A peer, and a connection to it that sends what it is given. */
function watched(answer: (ping: number) => void = () => undefined) {
  const seen = { pings: 0, read: 0, written: 0, silences: 0, isStuck: false };
  const peer = {
    ping: () => {
      seen.pings += 1;
      if (seen.isStuck) return;
      seen.written += 17;
      answer(seen.pings);
    },
    bytesRead: () => seen.read,
    bytesWritten: () => seen.written,
  };
  const begin = () => watchPeer(peer, { pingIntervalMs: 10_000, pingTimeoutMs: 8_000 }, () => (seen.silences += 1));
  return { seen, begin };
}

test('a peer that never answers is gone after the first ping, and that is told once', () => {
  const { seen, begin } = watched();
  begin();
  vi.advanceTimersByTime(7_999);
  expect(seen).toMatchObject({ pings: 1, silences: 0 });
  vi.advanceTimersByTime(1_000_000);
  expect(seen).toMatchObject({ pings: 1, silences: 1 });
});

test('a peer that answers is pinged at every interval', () => {
  const { seen, begin } = watched(() => (seen.read += 17));
  const stop = begin();
  vi.advanceTimersByTime(100_000);
  expect(seen).toMatchObject({ pings: 11, silences: 0 });
  stop();
  vi.advanceTimersByTime(100_000);
  expect(seen).toMatchObject({ pings: 11, silences: 0 });
});

test('a peer that answers no pings but sends something is there', () => {
  const { seen, begin } = watched(() => setTimeout(() => (seen.read += 1), 7_000));
  begin();
  vi.advanceTimersByTime(100_000);
  expect(seen.silences).toBe(0);
});

test('an answer that is read only after the time-out still counts', () => {
  // As when we were busy for long: the timer comes first, then the socket, then the immediate.
  const { seen, begin } = watched(() => setTimeout(() => setImmediate(() => (seen.read += 1)), 7_999));
  begin();
  vi.advanceTimersByTime(100_000);
  expect(seen.silences).toBe(0);
});

test('a peer that stops answering is noticed at its next ping', () => {
  const { seen, begin } = watched((ping) => ping <= 3 && (seen.read += 17));
  begin();
  vi.advanceTimersByTime(37_999);
  expect(seen).toMatchObject({ pings: 4, silences: 0 });
  vi.advanceTimersByTime(10);
  expect(seen.silences).toBe(1);
});

test('a connection that sends nothing any more is noticed before any answer is due', () => {
  const { seen, begin } = watched(() => (seen.read += 17));
  begin();
  vi.advanceTimersByTime(15_000);
  seen.isStuck = true;
  vi.advanceTimersByTime(5_999);
  expect(seen.silences).toBe(0);
  vi.advanceTimersByTime(2);
  expect(seen.silences).toBe(1);
});

test('an answer that comes later than the next ping would be sent is waited for', () => {
  const { seen } = watched();
  const peer = {
    ping: () => {
      seen.pings += 1;
      seen.written += 17;
    },
    bytesRead: () => seen.read,
    bytesWritten: () => seen.written,
  };
  watchPeer(peer, { pingIntervalMs: 3_000, pingTimeoutMs: 8_000 }, () => (seen.silences += 1));
  vi.advanceTimersByTime(7_000);
  expect(seen).toMatchObject({ pings: 1, silences: 0 });
  seen.read += 17;
  vi.advanceTimersByTime(2_500);
  expect(seen).toMatchObject({ pings: 2, silences: 0 });
});
