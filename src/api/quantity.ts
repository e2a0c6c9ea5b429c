/** Kubernetes quantities, compared by what they mean: "0.5" and "500m" are the same amount of CPU. */

const SUFFIXES: Readonly<Record<string, readonly [base: bigint, exponent: number]>> = {
  n: [10n, -9],
  u: [10n, -6],
  m: [10n, -3],
  '': [10n, 0],
  k: [10n, 3],
  M: [10n, 6],
  G: [10n, 9],
  T: [10n, 12],
  P: [10n, 15],
  E: [10n, 18],
  Ki: [2n, 10],
  Mi: [2n, 20],
  Gi: [2n, 30],
  Ti: [2n, 40],
  Pi: [2n, 50],
  Ei: [2n, 60],
};

const PATTERN = /^([+-]?)(\d*)(?:\.(\d*))?(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i)?)$/;

/** More digits are no amount of anything, and take time to read. */
const LONGEST = 100;

/** The quantity in billionths, the finest that Kubernetes knows, rounded up as it does; nothing for what is no quantity. */
export function quantityInNano(text: string): bigint | undefined {
  const match = text.length > LONGEST ? undefined : PATTERN.exec(text);
  if (!match) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent, suffix = ''] = match;
  if (whole === '' && fraction === '') return undefined;
  const [base, power] = exponent === undefined ? (SUFFIXES[suffix] ?? []) : ([10n, Number(exponent.slice(1))] as const);
  if (base === undefined || power === undefined || Math.abs(power) > 100) return undefined;
  const digits = BigInt(whole + fraction);
  const numerator = digits * 10n ** 9n * (power > 0 ? base ** BigInt(power) : 1n);
  const denominator = 10n ** BigInt(fraction.length) * (power < 0 ? base ** BigInt(-power) : 1n);
  const nano = (numerator + denominator - 1n) / denominator;
  return sign === '-' ? -nano : nano;
}

/** An amount of memory in Mi, rounded down; nothing for what is no quantity. */
export function mebibytes(quantity: string | number): number | undefined {
  const nano = quantityInNano(String(quantity));
  return nano === undefined ? undefined : Number(nano / 10n ** 9n / 2n ** 20n);
}
