/** The files of external storage (-o ext_path): "/dev/shm/cache:1g" and the like. */
import { atoi } from './c-numbers.ts';
import type { ValueRule } from './option-values.ts';

export interface StorageFile {
  readonly path: string;
  readonly megabytes: number;
}

const MEGABYTES: Readonly<Record<string, number>> = { m: 1, g: 1024, t: 1024 ** 2, p: 1024 ** 3 };
const BUCKETS = ['compact', 'lowttl', 'chunked', 'default', 'coldcompact', 'old'];

/** Nothing where memcached cannot read it. */
function read(value: string): StorageFile[] {
  const [path, size, bucket = 'default'] = value.split(':').filter(Boolean);
  const unit = MEGABYTES[size?.at(-1)?.toLowerCase() ?? ''];
  if (path === undefined || size === undefined || unit === undefined || !BUCKETS.includes(bucket)) return [];
  return [{ path, megabytes: atoi(size.slice(0, -1)) * unit }];
}

const rule: ValueRule = {
  must: `a file, ":" and a size in m, g, t or p, such as /dev/shm/cache:64m, with an optional ":" and one of ${BUCKETS.join(', ')}`,
  holds: (value) => read(value).length > 0,
};

export const storageFile = { read, rule };
