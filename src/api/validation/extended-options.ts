/** The extended options of memcached (-o): which values they take, and what they change that other settings must agree with. */
import { atoi, wholeNumber } from './c-numbers.ts';
import { amount, anything, fraction, integer, numberAbove, oneOf, type ValueRule } from './option-values.ts';
import { type StorageFile, storageFile } from './storage-file.ts';

/** What the options leave behind. Of those that contradict each other, the last wins. */
export interface Tuning {
  /** The power of two that is the size of the hash table. */
  hashpower: number;
  /** Shares of the memory in percent. */
  hotShare: number;
  warmShare: number;
  hasMaintainer: boolean;
  hasTemporaryTtl: boolean;
  /** The largest piece that items are stored in. */
  chunkKb: number;
  isChunkSet: boolean;
  slabSizes?: string;
  pageMb: number;
  writeBufferMb: number;
  readonly files: StorageFile[];
}

interface ExtendedOption {
  readonly value?: ValueRule;
  readonly valueIsOptional?: true;
  readonly set?: (tuning: Tuning, value: string) => void;
}

/** Items are stored in pages of this size. */
export const PAGE_KB = 1024;

/** Whether a page is made of whole pieces. */
export function fillsPage({ chunkKb }: Pick<Tuning, 'chunkKb'>): boolean {
  return PAGE_KB % (chunkKb || Infinity) === 0;
}

export function untuned(): Tuning {
  return {
    hashpower: 16,
    hotShare: 20,
    warmShare: 40,
    hasMaintainer: true,
    hasTemporaryTtl: false,
    chunkKb: PAGE_KB / 2,
    isChunkSet: false,
    pageMb: 64,
    writeBufferMb: 4,
    files: [],
  };
}

const flag: ExtendedOption = {};

/** Those that are the user's to set. */
const options: Readonly<Record<string, ExtendedOption>> = {
  drop_privileges: flag,
  ext_compact_under: { value: amount },
  ext_drop_under: { value: amount },
  ext_drop_unread: flag,
  ext_io_depth: { value: amount },
  ext_item_age: { value: amount },
  ext_item_size: { value: amount },
  ext_low_ttl: { value: amount },
  ext_max_frag: { value: fraction },
  ext_max_sleep: { value: amount },
  ext_page_size: { value: amount, set: (tuning, value) => (tuning.pageMb = wholeNumber(value) ?? 0) },
  ext_path: { value: storageFile.rule, set: ({ files }, value) => files.push(...storageFile.read(value)) },
  ext_recache_rate: { value: amount },
  ext_threads: { value: amount },
  ext_wbuf_size: { value: amount, set: (tuning, value) => (tuning.writeBufferMb = wholeNumber(value) ?? 0) },
  hash_algorithm: { value: oneOf('jenkins', 'murmur3', 'xxh3') },
  hashpower: { value: integer(12, 32), set: (tuning, value) => (tuning.hashpower = atoi(value)) },
  hot_lru_pct: { value: integer(1, 79), set: (tuning, value) => (tuning.hotShare = atoi(value)) },
  hot_max_factor: { value: numberAbove(0) },
  idle_timeout: { value: anything },
  inline_ascii_resp: flag,
  lru_crawler: flag,
  lru_crawler_sleep: { value: integer(0, 1_000_000) },
  lru_crawler_tocrawl: { value: amount },
  lru_maintainer: { set: (tuning) => (tuning.hasMaintainer = true) },
  maxconns_fast: flag,
  modern: flag,
  no_chunked_items: { set: (tuning) => (tuning.chunkKb = PAGE_KB) },
  no_drop_privileges: flag,
  no_hashexpand: flag,
  no_inline_ascii_resp: flag,
  no_lru_crawler: flag,
  no_lru_maintainer: { set: (tuning) => (tuning.hasMaintainer = false) },
  no_maxconns_fast: flag,
  no_modern: {
    set(tuning) {
      tuning.hasMaintainer = false;
      if (!tuning.isChunkSet) tuning.chunkKb = PAGE_KB;
    },
  },
  no_slab_automove: flag,
  no_slab_reassign: flag,
  read_buf_mem_limit: { value: amount },
  resp_obj_mem_limit: flag,
  slab_automove: { value: integer(0, 2), valueIsOptional: true },
  slab_automove_freeratio: { value: fraction },
  slab_automove_ratio: { value: numberAbove(0, 1) },
  slab_automove_window: { value: integer(3, 1800) },
  slab_chunk_max: {
    value: amount,
    set(tuning, value) {
      tuning.chunkKb = wholeNumber(value) ?? 0;
      tuning.isChunkSet = true;
    },
  },
  slab_reassign: flag,
  slab_sizes: { value: anything, set: (tuning, value) => (tuning.slabSizes = value) },
  sock_cookie_id: { value: anything },
  tail_repair_time: { value: integer(10) },
  temporary_ttl: { value: anything, set: (tuning) => (tuning.hasTemporaryTtl = true) },
  track_sizes: flag,
  warm_lru_pct: { value: integer(1, 79), set: (tuning, value) => (tuning.warmShare = atoi(value)) },
  warm_max_factor: { value: numberAbove(0) },
  watcher_logbuf_size: { value: amount },
  worker_logbuf_size: { value: amount },
};

/** A map, because names come from users, and an object has more names than were put into it. */
const byName: ReadonlyMap<string, ExtendedOption> = new Map(Object.entries(options));

/** One item of the list that -o takes. */
export interface GivenExtendedOption {
  readonly text: string;
  readonly name: string;
  readonly value?: string;
  /** Missing when memcached has no such option, or it is not the user's. */
  readonly option?: ExtendedOption;
}

/** Whether memcached takes it as it is. */
export function isTaken({ option, value }: GivenExtendedOption): boolean {
  if (!option?.value) return option !== undefined;
  return value === undefined ? option.valueIsOptional === true : option.value.holds(value);
}

/** -o takes a list: "modern,idle_timeout=60". */
export function readExtendedOptions(list: string): GivenExtendedOption[] {
  const items = list.trimStart().split(',');
  if (items.at(-1) === '') items.pop(); // memcached does not mind a comma at the end
  return items.map((text) => {
    const [, name = '', value] = /^([^=]*)(?:=(.*))?$/s.exec(text) ?? [];
    const option = byName.get(name);
    return { text, name, ...(value !== undefined && { value }), ...(option && { option }) };
  });
}
