/** What many numbers come to. */

/** The number below which that part of all lies, from 0 to 1. */
export function quantile(numbers: readonly number[], part: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN;
}

export const median = (numbers: readonly number[]) => quantile(numbers, 0.5);

export function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

/** Of each of these figures, the mean. */
export function meansOf<Name extends string>(all: readonly Readonly<Record<Name, number>>[], names: readonly Name[]) {
  return figuresOf(all, names, mean);
}

/** Of each of these figures, the greatest. */
export function greatestOf<Name extends string>(
  all: readonly Readonly<Record<Name, number>>[],
  names: readonly Name[],
) {
  return figuresOf(all, names, (numbers) => Math.max(...numbers));
}

function figuresOf<Name extends string>(
  all: readonly Readonly<Record<Name, number>>[],
  names: readonly Name[],
  sumUp: (numbers: readonly number[]) => number,
): Record<Name, number> {
  const figures = names.map((name) => [name, sumUp(all.map((one) => one[name]))]);
  return Object.fromEntries(figures) as Record<Name, number>;
}
