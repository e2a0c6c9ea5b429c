import { expect, test } from 'vitest';
import { type Convergence, rowsOf, together } from './converge.ts';

const arrival: Convergence = {
  count: 500,
  floor: { memcachedsMs: 1000, childrenMs: 20_000, cpuMs: 3, others: 0 },
  createdMs: 4000,
  childrenMs: 28_000,
  readyMs: 35_000,
  requests: 4000,
  writes: 4000,
  refused: 0,
  bySort: { 'patch services': 500 },
  reconciles: 3000,
  queuedMs: 1000,
  cpuMs: 8000,
  restMs: 200,
  emptyMB: 58,
  peakMB: 85,
  settledMB: 76,
  scrapedPeakMB: 86,
  fileMB: 45,
  others: 0.01,
};

test('two arrivals are the mean of what they took and the most memory, and leave out no sort of request', () => {
  const other: Convergence = {
    ...arrival,
    floor: { memcachedsMs: 3000, childrenMs: 30_000, cpuMs: 4, others: 0.3 },
    childrenMs: 32_000,
    writes: 4100,
    refused: 2,
    bySort: { 'patch services': 500, 'patch services (409)': 2 },
    reconciles: 3100,
    queuedMs: 2000,
    cpuMs: 9000,
    restMs: 400,
    peakMB: 91,
  };
  expect(together([arrival, other])).toEqual({
    ...arrival,
    floor: { memcachedsMs: 2000, childrenMs: 25_000, cpuMs: 3.5, others: 0.3 },
    childrenMs: 30_000,
    writes: 4050,
    refused: 2,
    bySort: { 'patch services': 500, 'patch services (409)': 1 },
    reconciles: 3050,
    queuedMs: 1500,
    cpuMs: 8500,
    restMs: 300,
    peakMB: 91,
  });
});

test('budgets are those of the reference crowd; a larger one may cost a fifth more each', () => {
  const verdicts = (crowd: Convergence) =>
    rowsOf(crowd, arrival, 44).flatMap(({ what, verdict }) => (verdict ? [[what.trim(), verdict]] : []));
  expect(verdicts(arrival)).toEqual([
    ['all children exist, s', 'met'],
    ['API writes per Memcached', 'met'],
    ['CPU per Memcached, ms', 'met'],
    ['memory at its peak, MB', 'met'],
  ]);
  const costly = { ...arrival, childrenMs: 30_001, writes: 6001, cpuMs: 10_001, peakMB: 90.1 };
  expect(new Set(verdicts(costly).map(([, verdict]) => verdict))).toEqual(new Set(['NOT MET']));
  expect(rowsOf(arrival, undefined, 44).filter(({ verdict }) => verdict)).toEqual([]);
  expect(verdicts({ ...arrival, count: 1000, cpuMs: 19_200 })).toEqual([['beside the reference crowd, ms', 'met']]);
  expect(verdicts({ ...arrival, count: 1000, cpuMs: 19_201 })).toEqual([['beside the reference crowd, ms', 'NOT MET']]);
});
