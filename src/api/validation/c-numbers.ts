/** Numbers as C reads them, and so memcached: blanks before them are skipped, and mostly whatever follows is ignored. */

const BLANK = '[ \\t-\\r]';
const WHOLE = new RegExp(`^${BLANK}*([+-]?\\d+)`);
const WHOLE_ALONE = new RegExp(`^${BLANK}*([+-]?\\d+)(?:${BLANK}|$)`);
const DECIMAL_ALONE = new RegExp(`^${BLANK}*([+-]?(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][+-]?\\d+)?)(?:${BLANK}|$)`);

/** `atoi`: 0 where there is no number; of one that is too large, 32 bits are left. */
export function atoi(text: string): number {
  const [, digits = '0'] = WHOLE.exec(text) ?? [];
  const number = bigInteger(digits);
  const clamped = number > LONGEST ? LONGEST : number < -LONGEST - 1n ? -LONGEST - 1n : number;
  return Number(BigInt.asIntN(32, clamped));
}

const LONGEST = 2n ** 63n - 1n;

/** Exact as far as anybody looks: more digits only cost time. */
function bigInteger(digits: string): bigint {
  const [, sign = '', rest = '0'] = /^([+-]?)0*(\d*)$/.exec(digits) ?? [];
  return BigInt(`${sign}${rest.slice(0, 30) || '0'}`);
}

/** `atof`, for numbers as people write them: 0 where there is none. */
export function atof(text: string): number {
  return Number.parseFloat(text) || 0;
}

/** What memcached's own, stricter reading takes for a whole number that is not negative. */
export function wholeNumber(text: string): number | undefined {
  const [, digits] = WHOLE_ALONE.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const number = bigInteger(digits);
  return number < 0n || number > 2n ** 64n - 1n ? undefined : Number(BigInt.asUintN(32, number));
}

/** The same for numbers with a fraction. */
export function decimal(text: string): number | undefined {
  const [, digits] = DECIMAL_ALONE.exec(text) ?? [];
  const number = Number(digits);
  return digits === undefined || !Number.isFinite(number) ? undefined : number;
}
