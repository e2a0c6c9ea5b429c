/** The settings of memcached itself. */
import { defaultValues } from '../default-values.ts';
import { integer, list, object, string } from './json-schema.ts';

const defaults = defaultValues.memcached;

export const cacheSchema = object('How memcached runs: each field is one of its command-line options.', {
  maxMemoryMB: integer(
    'Memory for items in megabytes (-m). memcached needs some more for itself: the memory limit of the container, where there is one, must exceed this by at least 32Mi.',
    { minimum: 16, maximum: 65536, default: defaults.maxMemoryMB },
  ),
  maxConnections: integer(
    'Connections that may be open at the same time (-c). memcached counts some of its own among them: at least five for each thread, and nine more.',
    { minimum: 1, maximum: 65536, default: defaults.maxConnections },
  ),
  threads: integer('Threads that serve requests (-t). More than there are cores is of no use.', {
    minimum: 1,
    maximum: 128,
    default: defaults.threads,
  }),
  maxItemSize: string(
    'Size of the largest item (-I), in kilobytes or megabytes such as "512k" or "2m". It must be a multiple of 512k, at most 1024m, and at most half of maxMemoryMB.',
    { pattern: '^[0-9]+(k|m)$', default: defaults.maxItemSize },
  ),
  verbosity: integer(
    'How much memcached logs: 0 is errors only, 1 is more (-v), 2 is every command with its key (-vv).',
    { minimum: 0, maximum: 2, default: defaults.verbosity },
  ),
  extraArgs: list(
    'More options for memcached, appended to those that the operator sets, such as ["-o", "idle_timeout=60"]. Options that other fields or the operator itself decide are refused.',
    string('One argument.'),
  ),
});
