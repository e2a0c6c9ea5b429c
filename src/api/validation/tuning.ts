/** Options of memcached that are fine one by one, but with which, taken together, it would not start. */
import { atoi, wholeNumber } from './c-numbers.ts';
import { fillsPage, isTaken, PAGE_KB, readExtendedOptions, type Tuning, untuned } from './extended-options.ts';
import { type Check, invalid } from './field-error.ts';
import { readCommandLine } from './option-reader.ts';

const field = 'spec.memcached.extraArgs';

/** What the arguments make of memcached's defaults. Those that are refused anyway are left out. */
export function tuningOf(extraArgs: readonly string[]): Tuning {
  const tuning = untuned();
  for (const { option: given, value: list = '' } of readCommandLine(extraArgs).options) {
    if (given?.letter !== 'o') continue;
    for (const each of readExtendedOptions(list)) if (isTaken(each)) each.option?.set?.(tuning, each.value ?? '');
  }
  return tuning;
}

/** The largest piece that items are stored in. Items of more than a page are always stored in pieces. */
export function largestChunkKb({ chunkKb, isChunkSet }: Tuning, itemKb: number): number {
  return itemKb > PAGE_KB && !isChunkSet ? PAGE_KB / 2 : chunkKb;
}

/** "512k" or "2m", as the schema has it. */
export function itemKilobytes(maxItemSize: string): number {
  return Number.parseInt(maxItemSize, 10) * (maxItemSize.endsWith('m') ? 1024 : 1);
}

/** The last value of an option that takes a number. */
function numberOf(extraArgs: readonly string[], letter: string): number | undefined {
  const given = readCommandLine(extraArgs).options.findLast(({ option }) => option?.letter === letter);
  return given?.value === undefined ? undefined : atoi(given.value);
}

/** memcached has a lock for every part of the hash table, and more of them the more threads there are. */
export const hashTableCoversThreads: Check = ({ spec }) => {
  const { threads, extraArgs } = spec.memcached;
  const { hashpower } = tuningOf(extraArgs);
  const least = threads < 3 ? 11 : threads < 4 ? 12 : threads < 5 ? 13 : threads <= 10 ? 14 : threads <= 20 ? 15 : 16;
  if (hashpower >= least) return [];
  return [invalid(field, `hashpower=${hashpower}`, `hashpower must be at least ${least} with ${threads} threads`)];
};

export const napiIdsFitThreads: Check = ({ spec }) => {
  const { threads, extraArgs } = spec.memcached;
  const ids = numberOf(extraArgs, 'N') ?? 0;
  if (ids <= threads) return [];
  return [invalid(field, `-N ${ids}`, `-N (--napi-ids) must not exceed the number of threads (${threads})`)];
};

export const lruSharesFit: Check = ({ spec }) => {
  const { hotShare, warmShare } = tuningOf(spec.memcached.extraArgs);
  if (hotShare + warmShare <= 80) return [];
  const given = `hot_lru_pct=${hotShare},warm_lru_pct=${warmShare}`;
  return [invalid(field, given, 'hot_lru_pct and warm_lru_pct must not be more than 80 together')];
};

export const temporaryItemsAreMaintained: Check = ({ spec }) => {
  const { hasTemporaryTtl, hasMaintainer } = tuningOf(spec.memcached.extraArgs);
  if (!hasTemporaryTtl || hasMaintainer) return [];
  return [
    invalid(field, 'temporary_ttl', 'temporary_ttl needs lru_maintainer: remove no_lru_maintainer and no_modern'),
  ];
};

/** Of several sizes of pieces, memcached minds the last one only. */
export const chunksFillPages: Check = ({ spec }) => {
  const tuning = tuningOf(spec.memcached.extraArgs);
  if (fillsPage(tuning)) return [];
  const detail = `slab_chunk_max must be a power of two from 1 to ${PAGE_KB}`;
  return [invalid(field, `slab_chunk_max=${tuning.chunkKb}`, detail)];
};

const MAX_SLAB_SIZES = 62;
const DEFAULT_MIN_SIZE = 48;

export const slabSizesGrow: Check = ({ spec }) => {
  const { extraArgs, maxItemSize } = spec.memcached;
  const tuning = tuningOf(extraArgs);
  const { slabSizes } = tuning;
  if (slabSizes === undefined || !fillsPage(tuning)) return []; // pieces that fill a page have to come first
  const sizes = slabSizes.split('-').filter(Boolean).map(wholeNumber);
  const least = numberOf(extraArgs, 'n') ?? DEFAULT_MIN_SIZE;
  const most = largestChunkKb(tuning, itemKilobytes(maxItemSize)) * 1024;
  const fits = sizes.every((size = 0, index) => size >= least && size <= most && size > (sizes[index - 1] ?? 0) + 8);
  if (slabSizes !== '' && fits && sizes.length <= MAX_SLAB_SIZES) return [];
  const detail = `slab_sizes must be at most ${MAX_SLAB_SIZES} numbers from ${least} to ${most}, joined by "-", each more than 8 above the one before`;
  return [invalid(field, `slab_sizes=${slabSizes}`, detail)];
};
