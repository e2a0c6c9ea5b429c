/** Random settings of memcached: its fields, and options drawn from its own help, with values of every kind, good and bad. */
import fc from 'fast-check';
import type { MemcachedSpec } from '../../src/api/index.ts';
import { DESCRIPTORS } from './memcached-binary.ts';

/** Those that the operator owns are its own business: it refuses all of them. */
const OWNED = 'dhVilpsuUmctIAYSZBekL';
const TAKE_VALUES = 'abDfnNoPR';

/** What the help says: "-f, --slab-growth-factor=<num>  …" and "   - hashpower:  …". */
export interface Help {
  readonly letters: readonly string[];
  readonly longs: readonly (readonly [letter: string, name: string])[];
  readonly extended: readonly string[];
}

export function readHelp(text: string): Help {
  const lines = [...text.matchAll(/^-(\w)(?:,|\s) *(?:--([\w-]+))?/gm)].map(([, letter = '', name]) => ({
    letter,
    name,
  }));
  const free = lines.filter(({ letter }) => !OWNED.includes(letter));
  return {
    letters: [...new Set(free.map(({ letter }) => letter))],
    longs: free.flatMap(({ letter, name }) => (name === undefined ? [] : [[letter, name] as const])),
    extended: [...text.matchAll(/^ +- (\w+):/gm)]
      .map(([, name = '']) => name)
      .filter((name) => !/^(ssl|proxy)_/.test(name)),
  };
}

/** Not in the help, but known to memcached. */
const UNDOCUMENTED =
  'no_chunked_items slab_automove slab_automove_ratio slab_automove_window slab_reassign slab_sizes'.split(' ');

const ODD = [
  '',
  '0',
  '1',
  '-1',
  ' 8',
  '8 ',
  '0.5',
  '1.25',
  '12',
  '13abc',
  '79',
  '80',
  '512',
  '1024',
  '1801',
  '65536',
].concat(['1000001', '4294967296', '99999999999999999999', 'abc', '1e3', '+3', '=', '-', '--', '1:2', '64m']);

/** Values that may well do. A name without any takes none, or whatever comes. */
const PLAUSIBLE: Readonly<Record<string, readonly string[]>> = {
  D: [':', '#', 'abc'],
  f: ['1.08', '1.25', '2', '10'],
  n: ['1', '48', '72', '512', '1000000'],
  N: ['1', '2', '4', '8'],
  R: ['1', '20', '100'],
  b: ['1024', '0', '-1'],
  ext_item_age: ['60'],
  ext_item_size: ['512'],
  ext_max_frag: ['0.8'],
  ext_page_size: ['64', '8', '2', '6', '7', '4096'],
  ext_path: [
    '/dev/shm/x:64m',
    '/dev/shm/y:1G',
    '/dev/shm/z:130m:compact',
    '/tmp/x:64m',
    '/dev/shm/d/x:64m',
    '/dev/shm/x:1p',
  ],
  ext_threads: ['1', '4'],
  ext_wbuf_size: ['4', '2', '8', '16', '3'],
  hash_algorithm: ['jenkins', 'murmur3', 'xxh3', 'md5'],
  hashpower: ['11', '12', '13', '14', '15', '16', '20', '24', '33'],
  hot_lru_pct: ['1', '20', '40', '41', '60'],
  hot_max_factor: ['0.2', '2'],
  idle_timeout: ['0', '60'],
  lru_crawler_sleep: ['0', '100', '1000000'],
  lru_crawler_tocrawl: ['0', '1000'],
  read_buf_mem_limit: ['0', '16'],
  slab_automove: ['0', '1', '2', '3'],
  slab_automove_freeratio: ['0.01'],
  slab_automove_ratio: ['0.8', '1', '1.1'],
  slab_automove_window: ['3', '30', '1800'],
  slab_chunk_max: ['1', '16', '128', '512', '1024', '3', '2048'],
  slab_sizes: ['100-200-300', '48-64-80', '100-104', '200-100', '100-600000', '1000-2000-x'],
  sock_cookie_id: ['1'],
  tail_repair_time: ['10', '60', '9'],
  temporary_ttl: ['61'],
  warm_lru_pct: ['1', '20', '40', '60', '61'],
  warm_max_factor: ['0.2', '2'],
  watcher_logbuf_size: ['256'],
  worker_logbuf_size: ['64'],
};

function valueOf(name: string): fc.Arbitrary<string | undefined> {
  const plausible = PLAUSIBLE[name];
  if (!plausible) return fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, fc.constantFrom(...ODD));
  return fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...plausible) },
    { weight: 1, arbitrary: fc.constantFrom(...ODD) },
    { weight: 1, arbitrary: fc.constant(undefined) },
  );
}

/** "modern,idle_timeout=60", now and then with something that does not belong there. */
function extendedList({ extended }: Help): fc.Arbitrary<string> {
  const known = fc
    .constantFrom(...extended, ...UNDOCUMENTED)
    .chain((name) => valueOf(name).map((value) => (value === undefined ? name : `${name}=${value}`)));
  const item = fc.oneof(
    { weight: 30, arbitrary: known },
    fc.constantFrom('', 'nothing', 'constructor', '__proto__', '=1'),
  );
  return fc.array(item, { minLength: 1, maxLength: 3 }).map((items) => items.join(','));
}

/** One option in one of the forms that getopt understands. */
function option(help: Help): fc.Arbitrary<string[]> {
  const value = (letter: string) =>
    letter === 'o' ? extendedList(help) : valueOf(letter).map((given) => given ?? '1');
  const short = fc.constantFrom(...help.letters, 'o', 'o', 'o', 'o').chain((letter): fc.Arbitrary<string[]> => {
    if (!TAKE_VALUES.includes(letter)) return fc.constant([`-${letter}`]);
    const forms = (given: string) => [
      [`-${letter}`, given],
      [`-${letter}${given}`],
      [`-v${letter}`, given],
      [`-${letter}`],
    ];
    return value(letter).chain((given) =>
      fc.oneof(
        { weight: 9, arbitrary: fc.constant<string[]>([`-${letter}`, given]) },
        fc.constantFrom(...forms(given)),
      ),
    );
  });
  const long = fc.constantFrom(...help.longs).chain(
    ([letter, name]): fc.Arbitrary<string[]> =>
      fc.tuple(value(letter), fc.integer({ min: 1, max: name.length })).chain(([given, length]) => {
        const flag = `--${name}`;
        const brief = `--${name.slice(0, length)}`;
        const forms = [[flag], [`${flag}=${given}`], [flag, given], [brief], [`${brief}=${given}`]];
        return fc.oneof(
          { weight: 9, arbitrary: fc.constant<string[]>([TAKE_VALUES.includes(letter) ? `${flag}=${given}` : flag]) },
          fc.constantFrom(...forms),
        );
      }),
  );
  const odd = fc.constantFrom<string[]>(['word'], ['-'], [''], ['-Q'], ['--nothing'], ['---']);
  return fc.oneof({ weight: 20, arbitrary: short }, { weight: 10, arbitrary: long }, odd);
}

/**
 * One descriptor less than it takes for a client to connect: memcached starts, as long as there are few threads,
 * but is of no use to anybody.
 */
function isDeaf({ memcached, monitoring, security }: MemcachedSpec): boolean {
  const { maxConnections = 0, threads = 0, extraArgs = [] } = memcached ?? {};
  const listeners = monitoring?.enabled && (security?.tls?.enabled || security?.sasl?.enabled) ? 1 : 0;
  const files = extraArgs.join(' ').split('ext_path').length - 1;
  return maxConnections === 5 * threads + 8 + listeners + files;
}

/** Owned options in a cluster of others, or under a name that is the start of another one. */
const owned = new RegExp(`^-[^-]*[${OWNED}]|^--listen(=|$)`);

/** Mostly what is usual, so that something else gets a chance to be the reason. */
function mostly<T>(usual: readonly T[], ...others: readonly fc.Arbitrary<T>[]): fc.Arbitrary<T> {
  return fc.oneof({ weight: 4 * others.length, arbitrary: fc.constantFrom(...usual) }, ...others);
}

export function randomSettings(help: Help): fc.Arbitrary<MemcachedSpec> {
  const numbered = (unit: string) => fc.integer({ min: 0, max: 4000 }).map((size) => `${size}${unit}`);
  const memcached = fc
    .record({
      maxMemoryMB: mostly([64, 256, 1024], fc.constantFrom(16, 17, 65_536), fc.integer({ min: 16, max: 65_536 })),
      threads: mostly([1, 2, 3, 4, 8], fc.integer({ min: 1, max: 24 }), fc.integer({ min: 25, max: 128 })),
      maxItemSize: mostly(
        ['512k', '1m', '1536k', '2m', '4m'],
        fc.constantFrom('1k', '16k', '100k', '700k', '8m', '1024m', '1025m', '1048576k'),
        numbered('k'),
        numbered('m').filter((size) => Number.parseInt(size, 10) < 2048), // above, memcached takes it for another size
      ),
      verbosity: fc.nat(2),
      extraArgs: fc.array(option(help), { maxLength: 3 }).map((list) => list.flat()),
    })
    .chain((settings) => {
      const least = 5 * settings.threads;
      const limits = mostly(
        [1024, 4096],
        fc.integer({ min: least, max: least + 15 }),
        fc.integer({ min: 1, max: DESCRIPTORS }),
      );
      return limits.map((maxConnections) => ({ ...settings, maxConnections }));
    });
  return fc
    .record({
      memcached,
      monitoring: fc.record({ enabled: fc.boolean() }),
      security: fc.record({
        tls: fc.boolean().map((enabled) => ({ enabled, certificateSecretRef: { name: 'tls' } })),
        sasl: fc.boolean().map((enabled) => ({ enabled, credentialsSecretRef: { name: 'sasl' } })),
      }),
    })
    .filter((spec) => !isDeaf(spec) && !spec.memcached.extraArgs.some((arg) => owned.test(arg)));
}
