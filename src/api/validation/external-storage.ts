/** External storage (-o ext_path) has sizes that must fit each other, and a file that memcached must be able to write. */
import type { DefaultedSpec } from '../defaults.ts';
import type { Tuning } from './extended-options.ts';
import { type Check, invalid } from './field-error.ts';
import { itemKilobytes, tuningOf } from './tuning.ts';

const field = 'spec.memcached.extraArgs';
const MAX_PAGES = 65_534;
const MAX_PAGE_MB = 4094;

/** Nothing where there is no external storage. */
function storageOf({ memcached }: DefaultedSpec): Tuning | undefined {
  const tuning = tuningOf(memcached.extraArgs);
  return tuning.files.length > 0 ? tuning : undefined;
}

export const storageIsWritable: Check = ({ spec }) => {
  if (!spec.security.containerSecurityContext.readOnlyRootFilesystem) return [];
  return (storageOf(spec)?.files ?? [])
    .filter(({ path }) => !/^\/dev\/shm\/(?!\.\.?$)[^/]{1,255}$/.test(path))
    .map(({ path }) =>
      invalid(
        field,
        `ext_path=${path}`,
        'ext_path must be a file in /dev/shm: nothing else is writable in the container',
      ),
    );
};

export const storagePagesFit: Check = ({ spec }) => {
  const storage = storageOf(spec);
  if (!storage) return [];
  const { pageMb, writeBufferMb } = storage;
  const isEven = (size: number) => size > 0 && size % 2 === 0;
  if (isEven(pageMb) && isEven(writeBufferMb) && pageMb % writeBufferMb === 0 && pageMb <= MAX_PAGE_MB) return [];
  const given = `ext_page_size=${pageMb},ext_wbuf_size=${writeBufferMb}`;
  const detail = `ext_wbuf_size must be even, and ext_page_size a multiple of it of at most ${MAX_PAGE_MB}`;
  return [invalid(field, given, detail)];
};

export const storageHoldsItems: Check = ({ spec }) => {
  const storage = storageOf(spec);
  const { maxItemSize } = spec.memcached;
  if (!storage || itemKilobytes(maxItemSize) <= storage.writeBufferMb * 1024) return [];
  const detail = `maxItemSize must not exceed ext_wbuf_size (${storage.writeBufferMb}m) when there is external storage`;
  return [invalid('spec.memcached.maxItemSize', maxItemSize, detail)];
};

export const storageHasPages: Check = ({ spec }) => {
  const { files = [], pageMb = 0 } = storageOf(spec) ?? {};
  const pages = files.map(({ megabytes }) => Math.floor(megabytes / (pageMb || Infinity)));
  if (pages.every((count) => count >= 1) && pages.reduce((sum, count) => sum + count, 0) <= MAX_PAGES) return [];
  const given = `ext_path with ${files.map(({ megabytes }) => `${megabytes}m`).join(' and ')}`;
  const detail = `each file must have room for a page (ext_page_size, ${pageMb}m), and all together for at most ${MAX_PAGES}`;
  return [invalid(field, given, detail)];
};
