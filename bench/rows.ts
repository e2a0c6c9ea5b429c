/** What was measured, beside what it may be: the budget, something that was measured in the same run, and whether it is met. */

export type Verdict = 'met' | 'NOT MET' | 'unclear';

export interface Row {
  readonly scenario: string;
  readonly what: string;
  readonly measured: number;
  readonly budget?: Budget;
  /** Something of the same run to compare with. */
  readonly reference?: number;
  readonly verdict?: Verdict;
}

export type Budget = { readonly most: number } | { readonly ratio: number };

interface RowOptions {
  readonly most?: number;
  /** Of the reference. */
  readonly ratio?: number;
  readonly reference?: number;
  /** What others had of the machine meanwhile: then seconds say little. For what depends on it only. */
  readonly others?: number;
}

/** With more than this in the hands of others, times are those of the machine and not ours. */
const MOST_FOR_OTHERS = 0.2;

/** Makes the rows of one scenario. */
export function rowsFor(scenario: string) {
  return (what: string, measured: number, { most, ratio, reference, others = 0 }: RowOptions = {}): Row => {
    const budget = most === undefined ? (ratio === undefined ? undefined : { ratio }) : { most };
    const isMet = budget && measured <= limitOf(budget, reference);
    const verdict = isMet ? 'met' : others > MOST_FOR_OTHERS ? 'unclear' : 'NOT MET';
    return {
      scenario,
      what,
      measured,
      ...(budget && { budget, verdict }),
      ...(reference !== undefined && { reference }),
    };
  };
}

function limitOf(budget: Budget, reference: number | undefined): number {
  return 'most' in budget ? budget.most : budget.ratio * (reference ?? Number.NaN);
}

export function tableOf(rows: readonly Row[]): string {
  const head = ['', 'budget', 'measured', 'reference', 'ratio', 'verdict'];
  const scenarios = Map.groupBy(rows, ({ scenario }) => scenario);
  const lines = [...scenarios].flatMap(([scenario, own]) => [[scenario], ...own.map(cellsOf)]);
  const widths = head.map((_, column) => Math.max(...[head, ...lines].map((line) => line[column]?.length ?? 0)));
  const pad = (cell: string, column: number) =>
    column === 0 || column === head.length - 1 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return [head, ...lines].map((line) => line.map(pad).join('  ').trimEnd()).join('\n');
}

function cellsOf({ what, budget, measured, reference, verdict }: Row): string[] {
  return [
    `  ${what}`,
    budgetText(budget),
    short(measured),
    reference === undefined ? '' : short(reference),
    reference === undefined || reference === 0 ? '' : `${(measured / reference).toFixed(2)} ×`,
    verdict ?? '',
  ];
}

function budgetText(budget: Budget | undefined): string {
  if (!budget) return '';
  if ('ratio' in budget) return `≤ ${budget.ratio} ×`;
  return budget.most === 0 ? '0' : `≤ ${short(budget.most)}`;
}

function short(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(Math.abs(value) < 100 ? 2 : 0);
}
