/** Recovery of a watch: every state with everything that can happen in it. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { ApiError, ConnectionLost } from '../client/index.ts';
import {
  follow,
  type Happening,
  happeningOf,
  type Outcome,
  type Place,
  START,
  WatchBroken,
  type WatchState,
} from './watch-state.ts';

const PLACES: readonly Place[] = ['stream', 'pages', 'watch'];
const OUTCOMES: readonly Outcome[] = ['listed', 'ended', 'expired', 'refused', 'missing', 'failed'];
const backoff = (troubles: number) => 100 * 2 ** troubles;
const shown = (state: WatchState) => ('next' in state ? `${state.at} ${state.ms} ${state.next}` : state.at);

/** When a step is taken, in the words of the drawing. */
function whenOf(first: WatchState, second: WatchState): string {
  if (first.at === 'waiting') return ', after a wait';
  return second.at === 'waiting' ? ', at once but not twice' : '';
}

/** The lines of a drawing of what `follow` does. What leads to the same as a failure is not listed. */
function drawn(): string[] {
  const steps = PLACES.flatMap((at) => {
    const edge = (outcome: Outcome) => {
      const first = follow({ at, troubles: 0, isHurried: false }, { outcome }, backoff);
      const second = follow({ at, troubles: 0, isHurried: true }, { outcome }, backoff);
      return `${at} --> ${first.at === 'waiting' ? first.next : first.at}: *${whenOf(first, second)}`;
    };
    const outcomes = Map.groupBy(OUTCOMES, edge);
    return [...outcomes].map(([line, names]) =>
      line.replace('*', names.includes('failed') ? 'anything else' : names.join(' or ')),
    );
  });
  const absent: WatchState = { at: 'absent', next: 'stream', ms: 0, troubles: 1 };
  const ends = Map.groupBy(['rested', 'woken'] as const, (outcome) => follow(absent, { outcome }, backoff).at);
  return [
    `[*] --> ${START.at}`,
    ...steps,
    ...[...ends].map(([to, outcomes]) => `absent --> ${to}: ${outcomes.join(' or ')}`),
  ];
}

test('the drawing in ARCHITECTURE.md shows exactly what it does', async () => {
  const page = await readFile(new URL('../../../ARCHITECTURE.md', import.meta.url), 'utf8');
  const drawing = /^## Watch recovery$.*?^stateDiagram-v2$(.*?)^```$/ms.exec(page)?.[1] ?? '';
  const lines = drawing
    .trim()
    .split('\n')
    .map((line) => line.trim());
  expect(lines.toSorted()).toEqual(drawn().toSorted());
});

test('it begins with a streaming list', () => {
  expect(START).toEqual({ at: 'stream', troubles: 0, isHurried: false });
});

/** Everything that can happen, while all is well, and after three troubles in a hurry. */
const table = `
  stream  listed    watch                 watch
  stream  ended     waiting 100 pages     waiting 800 pages
  stream  expired   waiting 100 stream    waiting 800 stream
  stream  refused   pages                 pages
  stream  missing   absent 100 stream     absent 800 stream
  stream  failed    waiting 100 stream    waiting 800 stream
  pages   listed    watch                 watch
  pages   ended     waiting 100 pages     waiting 800 pages
  pages   expired   waiting 100 stream    waiting 800 stream
  pages   refused   waiting 100 pages     waiting 800 pages
  pages   missing   absent 100 stream     absent 800 stream
  pages   failed    waiting 100 pages     waiting 800 pages
  watch   listed    waiting 100 watch     waiting 800 watch
  watch   ended     watch                 waiting 800 watch
  watch   expired   stream                waiting 800 stream
  watch   refused   stream                waiting 800 stream
  watch   missing   waiting 100 stream    waiting 800 stream
  watch   failed    waiting 100 watch     waiting 800 watch`;
const rows = table
  .trim()
  .split('\n')
  .map((line) => line.trim().split(/ {2,}/));

test('the table has every place and every outcome', () => {
  const all = PLACES.flatMap((place) => OUTCOMES.map((outcome) => `${place} ${outcome}`));
  expect(rows.map(([place, outcome]) => `${place} ${outcome}`)).toEqual(all);
});

test.for(rows)('%s, %s: %s, or in trouble %s', ([at, outcome, well, troubled]) => {
  const happening = { outcome } as Happening;
  const inTrouble: WatchState = { at: at as Place, troubles: 3, isHurried: true };
  expect(shown(follow({ at: at as Place, troubles: 0, isHurried: false }, happening, backoff))).toBe(well);
  expect(shown(follow(inTrouble, happening, backoff))).toBe(troubled);
  // A watch that was well for a while begins to count anew.
  expect(shown(follow(inTrouble, { ...happening, healthy: true }, backoff))).toBe(well);
});

test('after an outage, what the server says in good health is followed at once', () => {
  const back: WatchState = { at: 'watch', troubles: 9, isHurried: false };
  expect(follow(back, { outcome: 'expired' }, backoff)).toEqual({ at: 'stream', troubles: 9, isHurried: true });
  expect(follow(back, { outcome: 'ended' }, backoff)).toEqual({ at: 'watch', troubles: 9, isHurried: true });
});

test.for(['waiting', 'absent'] as const)('after %s it goes where it wanted to go', (at) => {
  for (const next of PLACES) {
    const state: WatchState = { at, next, ms: 5, troubles: 3 };
    expect(follow(state, { outcome: 'rested' }, backoff)).toEqual({ at: next, troubles: 3, isHurried: false });
    expect(follow(state, { outcome: 'woken' }, backoff)).toEqual({ at: next, troubles: 0, isHurried: false });
  }
});

test('the server can ask for a longer wait, also where there would be none', () => {
  const happening: Happening = { outcome: 'failed', atLeastMs: 5000 };
  expect(shown(follow({ at: 'watch', troubles: 0, isHurried: false }, happening, backoff))).toBe('waiting 5000 watch');
  expect(shown(follow({ at: 'watch', troubles: 10, isHurried: false }, happening, backoff))).toBe(
    'waiting 102400 watch',
  );
  expect(
    shown(follow({ at: 'watch', troubles: 0, isHurried: false }, { ...happening, outcome: 'expired' }, backoff)),
  ).toBe('waiting 5000 stream');
});

test('no circle is without a wait, but for a watch that was well', () => {
  const walk = (state: WatchState, path: readonly string[]): void => {
    if ('next' in state) return;
    const here = JSON.stringify(state);
    expect(path).not.toContain(here);
    for (const outcome of OUTCOMES) walk(follow(state, { outcome }, backoff), [...path, here]);
  };
  for (const at of PLACES) walk({ at, troubles: 0, isHurried: false }, []);
});

const gone = new ApiError(410, { reason: 'Expired' });
const tooLarge = new ApiError(504, {
  reason: 'Timeout',
  details: { causes: [{ reason: 'ResourceVersionTooLarge' }], retryAfterSeconds: 1 },
});

test.for([
  { error: gone, happening: { outcome: 'expired', atLeastMs: 0, atMostMs: 5000 } },
  { error: tooLarge, happening: { outcome: 'expired', atLeastMs: 1000, atMostMs: 5000 } },
  { error: new ApiError(404, {}), happening: { outcome: 'missing', atLeastMs: 0, atMostMs: 30_000 } },
  { error: new ApiError(400, {}), happening: { outcome: 'refused', atLeastMs: 0, atMostMs: 30_000 } },
  { error: new ApiError(422, {}), happening: { outcome: 'refused', atLeastMs: 0, atMostMs: 30_000 } },
  { error: new ApiError(403, {}), happening: { outcome: 'failed', atLeastMs: 0, atMostMs: 30_000 } },
  { error: new ApiError(429, {}, 7), happening: { outcome: 'failed', atLeastMs: 7000, atMostMs: 5000 } },
  { error: new ApiError(429, {}, 3600), happening: { outcome: 'failed', atLeastMs: 30_000, atMostMs: 5000 } },
  { error: new ApiError(500, {}), happening: { outcome: 'failed', atLeastMs: 0, atMostMs: 5000 } },
  { error: new ApiError(504, {}), happening: { outcome: 'failed', atLeastMs: 0, atMostMs: 5000 } },
  { error: new ConnectionLost('closed', 'x'), happening: { outcome: 'failed', atMostMs: 1000 } },
  { error: new WatchBroken(gone), happening: { outcome: 'expired', atLeastMs: 0, atMostMs: 5000 } },
  {
    error: new WatchBroken(new ApiError(403, {}, 2)),
    happening: { outcome: 'expired', atLeastMs: 2000, atMostMs: 5000 },
  },
  { error: 'what is this', happening: { outcome: 'failed', atMostMs: 30_000 } },
])('$error means $happening.outcome', ({ error, happening }) => {
  expect(happeningOf(error)).toEqual({ ...happening, error });
});
