/** The numbers beside what they may be: budgets, the floor of the same run, and whether each is met. */
import type { Floor } from './floor.ts';
import type { Arrival, Quiet, Start } from './measurement.ts';

export interface Results {
  readonly count: number;
  /** Measured before and after the operator, because the machine may have other things to do. */
  readonly floors: readonly Floor[];
  /** What others had of the machine: before, meanwhile and after, from 0 to 1. */
  readonly others: readonly number[];
  readonly bareNodeMB: number;
  readonly firstStart: Start;
  readonly arrival: Arrival;
  readonly quiet: Quiet;
  readonly restart: Start;
}

export interface Row {
  readonly what: string;
  readonly budget: string;
  readonly measured: string;
  readonly floor: string;
  /** Measured over floor. */
  readonly ratio: string;
  readonly verdict?: 'met' | 'NOT MET' | 'unclear';
}

/** With more than this in the hands of others, at any time, ratios of seconds say little. */
const MOST_FOR_OTHERS = 0.2;

const BUDGET = { timeRatio: 1.5, writes: 12, cpuMs: 20, memoryMB: 90 } as const;

export function rowsOf(results: Results): Row[] {
  const { count, floors, others, bareNodeMB, firstStart, arrival, quiet, restart } = results;
  const mean = (pick: (floor: Floor) => number) => floors.reduce((sum, floor) => sum + pick(floor), 0) / floors.length;
  const childrenFloor = mean(({ childrenMs }) => childrenMs);
  const bothFloors = childrenFloor + mean(({ memcachedsMs }) => memcachedsMs);
  const children = row('all children exist, s', arrival.childrenMs / 1000, childrenFloor / 1000, {
    ratio: BUDGET.timeRatio,
  });
  const isUndisturbed = others.every((share) => share <= MOST_FOR_OTHERS);
  return [
    isUndisturbed ? children : { ...children, verdict: 'unclear' },
    row('  against children and Memcacheds, s', arrival.childrenMs / 1000, bothFloors / 1000),
    row('all Memcacheds ready, s', arrival.readyMs / 1000),
    row('API writes per Memcached', arrival.writes / count, undefined, { most: BUDGET.writes }),
    row('API requests per Memcached', arrival.requests / count),
    row('requests refused', arrival.refused, undefined, { most: 0 }),
    row(
      'CPU per Memcached, ms',
      arrival.cpuMs / count,
      mean(({ cpuMs }) => cpuMs),
      { most: BUDGET.cpuMs },
    ),
    row('memory at its peak, MB', arrival.peakMB, bareNodeMB, { most: BUDGET.memoryMB }),
    row('memory when settled, MB', quiet.residentMB, bareNodeMB, { most: BUDGET.memoryMB }),
    row('memory without Memcacheds, MB', firstStart.residentMB, bareNodeMB),
    row(`requests in ${quiet.seconds} s of quiet`, quiet.requests, undefined, { most: 0 }),
    row(`CPU in ${quiet.seconds} s of quiet, ms`, quiet.cpuMs),
    row('restart: until in control, s', restart.startMs / 1000),
    row('restart: writes', restart.writes, undefined, { most: 0 }),
    row('restart: CPU until settled, ms', restart.cpuMs),
    row('restart: memory, MB', restart.residentMB, bareNodeMB, { most: BUDGET.memoryMB }),
  ];
}

function row(what: string, measured: number, floor?: number, budget?: Budget): Row {
  const ratio = floor === undefined ? undefined : measured / floor;
  return {
    what,
    budget: budgetText(budget),
    measured: short(measured),
    floor: floor === undefined ? '' : short(floor),
    ratio: ratio === undefined ? '' : `${ratio.toFixed(2)} ×`,
    ...(budget && { verdict: isMet(budget, measured, ratio) ? 'met' : 'NOT MET' }),
  };
}

type Budget = { readonly most: number } | { readonly ratio: number };

function isMet(budget: Budget, measured: number, ratio: number | undefined): boolean {
  return 'most' in budget ? measured <= budget.most : ratio !== undefined && ratio <= budget.ratio;
}

function budgetText(budget: Budget | undefined): string {
  if (!budget) return '';
  if ('ratio' in budget) return `≤ ${budget.ratio} × floor`;
  return budget.most === 0 ? '0' : `≤ ${budget.most}`;
}

function short(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(value < 100 ? 2 : 0);
}

const COLUMNS = ['what', 'budget', 'measured', 'floor', 'ratio', 'verdict'] as const;

export function tableOf(rows: readonly Row[]): string {
  const head = ['', ...COLUMNS.slice(1)];
  const lines = [head, ...rows.map((one) => COLUMNS.map((name) => one[name] ?? ''))];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const pad = (cell: string, column: number) =>
    column === 0 || column === head.length - 1 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return lines.map((line) => line.map(pad).join('  ').trimEnd()).join('\n');
}
