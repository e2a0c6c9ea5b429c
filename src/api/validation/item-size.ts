/** The largest item must fit into the memory, and be made of whole pieces. */
import { fillsPage, PAGE_KB } from './extended-options.ts';
import { type Check, invalid } from './field-error.ts';
import { itemKilobytes, largestChunkKb, tuningOf } from './tuning.ts';

const MAX_ITEM_KB = 1024 * 1024;

export const itemSizeFits: Check = ({ spec }) => {
  const { maxItemSize, maxMemoryMB, extraArgs } = spec.memcached;
  const tuning = tuningOf(extraArgs);
  if (!fillsPage(tuning)) return []; // that has to be put right first
  const kilobytes = itemKilobytes(maxItemSize);
  const chunk = largestChunkKb(tuning, kilobytes);
  const half = (maxMemoryMB * 1024) / 2;
  if (kilobytes % chunk === 0 && kilobytes >= chunk && kilobytes <= Math.min(MAX_ITEM_KB, half)) return [];
  const step = largestChunkKb(tuning, PAGE_KB + 1);
  const most = half < MAX_ITEM_KB ? `${size(half)} (half of maxMemoryMB)` : size(MAX_ITEM_KB);
  const detail = `maxItemSize must be a multiple of ${size(step)} between ${size(tuning.chunkKb)} and ${most}`;
  return [invalid('spec.memcached.maxItemSize', maxItemSize, detail)];
};

function size(kilobytes: number): string {
  return kilobytes % 1024 === 0 ? `${kilobytes / 1024}m` : `${kilobytes}k`;
}
