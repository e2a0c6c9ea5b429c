/** When a peer counts as gone, on a clock of our own. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchPeer } from './liveness.ts';

beforeEach(
  () =>
    void vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval'] }),
);
afterEach(() => void vi.useRealTimers());

function watched(answer: (ping: number) => void = () => undefined) {
  const seen = { pings: 0, bytes: 0, silences: 0 };
  const peer = {
    ping: () => answer((seen.pings += 1)),
    bytesRead: () => seen.bytes,
  };
  const stop = watchPeer(peer, { pingIntervalMs: 10_000, pingTimeoutMs: 8_000 }, () => (seen.silences += 1));
  return { seen, stop };
}

test('a peer that never answers is gone after the first ping, and that is told once', () => {
  const { seen } = watched();
  vi.advanceTimersByTime(17_999);
  expect(seen).toMatchObject({ pings: 1, silences: 0 });
  vi.advanceTimersByTime(1_000_000);
  expect(seen).toMatchObject({ pings: 1, silences: 1 });
});

test('a peer that answers is pinged at every interval', () => {
  const { seen, stop } = watched(() => (seen.bytes += 17));
  vi.advanceTimersByTime(100_000);
  expect(seen).toMatchObject({ pings: 10, silences: 0 });
  stop();
  vi.advanceTimersByTime(100_000);
  expect(seen).toMatchObject({ pings: 10, silences: 0 });
});

test('a peer that answers no pings but sends something is there', () => {
  const { seen } = watched(() => setTimeout(() => (seen.bytes += 1), 7_000));
  vi.advanceTimersByTime(100_000);
  expect(seen.silences).toBe(0);
});

test('an answer that is read only after the time-out still counts', () => {
  // As when we were busy for long: the timer comes first, then the socket, then the immediate.
  const { seen } = watched(() => setTimeout(() => setImmediate(() => (seen.bytes += 1)), 7_999));
  vi.advanceTimersByTime(100_000);
  expect(seen.silences).toBe(0);
});

test('a peer that stops answering is noticed at its next ping', () => {
  const { seen } = watched((ping) => ping <= 3 && (seen.bytes += 17));
  vi.advanceTimersByTime(47_999);
  expect(seen).toMatchObject({ pings: 4, silences: 0 });
  vi.advanceTimersByTime(10);
  expect(seen.silences).toBe(1);
});
