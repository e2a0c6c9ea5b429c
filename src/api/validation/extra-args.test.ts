import { describe, expect, test } from 'vitest';
import { memcachedKind } from '../memcached.ts';
import { describeErrors } from './field-error.ts';
import { validate, warningsAbout } from './index.ts';

function memcached(extraArgs: readonly string[]) {
  const { apiVersion, kind } = memcachedKind;
  return { apiVersion, kind, metadata: { name: 'my-cache' }, spec: { memcached: { extraArgs } } };
}

function problems(extraArgs: readonly string[]): string[] {
  return validate(memcached(extraArgs)).map((error) => describeErrors([error]));
}

describe('allowed', () => {
  test.for([
    [[]],
    [['-M']],
    [['-f', '1.5', '-n', '48']],
    [['-vf2']],
    [['-b1024', '-R', '20', '-CFXW']],
    [['--slab-growth-factor=1.1']],
    [['--slab-growth', '1.1']],
    [['--verbose=2']],
    [['-o', 'modern,idle_timeout=60,no_lru_crawler']],
    [['-oext_path=/dev/shm/x:64m']],
    [['-D', '-m']], // the value of -D
    [['-D', '--']],
    [['-o', '']],
    [['-o', 'modern,']],
    [['-o', 'slab_automove,slab_automove=2']],
  ])('%j', ([args = []]) => {
    expect(problems(args)).toEqual([]);
  });
});

describe('owned by the operator', () => {
  test.for([
    [['-m', '64'], '[0]: Forbidden: -m (--memory-limit) is not for extraArgs: set spec.memcached.maxMemoryMB instead'],
    [['-m64'], '[0]: Forbidden: -m (--memory-limit) is not for extraArgs: set spec.memcached.maxMemoryMB instead'],
    [
      ['--memory-l=64'],
      '[0]: Forbidden: -m (--memory-limit) is not for extraArgs: set spec.memcached.maxMemoryMB instead',
    ],
    [
      ['-M', '-c', '1'],
      '[1]: Forbidden: -c (--conn-limit) is not for extraArgs: set spec.memcached.maxConnections instead',
    ],
    [['-vd'], '[0]: Forbidden: -d (--daemon) is not for extraArgs: the container would end at once'],
    [['-V'], '[0]: Forbidden: -V (--version) is not for extraArgs: memcached would print its version and exit'],
    [
      ['-l', '0.0.0.0'],
      '[0]: Forbidden: -l (--listen) is not for extraArgs: the operator decides where memcached listens',
    ],
    [['-A'], '[0]: Forbidden: -A (--enable-shutdown) is not for extraArgs: every client could stop the server'],
    [['-S'], '[0]: Forbidden: -S (--enable-sasl) is not for extraArgs: set spec.security.sasl instead'],
    [['-o', 'modern,ssl_key=x'], '[0]: Forbidden: ssl_key is not for extraArgs: set spec.security.tls instead'],
    [['-o', 'proxy_config=routelib'], '[0]: Forbidden: proxy_config is not for extraArgs: a proxy is not a cache'],
    [['-M', '--', '-S'], '[1]: Forbidden: "--" would end the options of memcached'],
  ] as const)('%j', ([args, problem]) => {
    expect(problems(args)).toEqual([`spec.memcached.extraArgs${problem}`]);
  });

  test.for('dhVilpsuUmctIAYSZBekL'.split(''))('-%s', (letter) => {
    expect(validate(memcached([`-${letter}`, '1']))[0]).toMatchObject({ reason: 'FieldValueForbidden' });
  });
});

describe('refused by memcached', () => {
  const ALLOWED = 'memcached has no such option; allowed are -a -b -C -D -f -F -M -n -N -o -P -r -R -v -W -X';
  test.for([
    [['-Q'], `[0]: Invalid value: "-Q": ${ALLOWED}`],
    [['--nothing'], `[0]: Invalid value: "--nothing": ${ALLOWED}`],
    [['--slab', '2'], `[0]: Invalid value: "--slab": ${ALLOWED}`],
    [['-f'], '[0]: Invalid value: "-f": -f (--slab-growth-factor) needs a value'],
    [['-f', '1'], '[0]: Invalid value: "1": the value of -f (--slab-growth-factor) must be a number above 1'],
    [['-n', 'x'], '[0]: Invalid value: "x": the value of -n (--slab-min-size) must be a whole number of at least 1'],
    [['--disable-cas=1'], '[0]: Invalid value: "--disable-cas=1": -C (--disable-cas) takes no value'],
    [
      ['-n', '0.5'],
      '[0]: Invalid value: "0.5": the value of -n (--slab-min-size) must be a whole number of at least 1',
    ],
    [['-D', ' '], '[0]: Invalid value: " ": the value of -D must be more than blanks'],
    [
      ['-o', 'hashpower=33'],
      '[0]: Invalid value: "hashpower=33": the value of hashpower must be a whole number from 12 to 32',
    ],
    [
      ['-o', 'hashpower'],
      '[0]: Invalid value: "hashpower": the value of hashpower must be a whole number from 12 to 32',
    ],
    [['-o', 'slab_sizes'], '[0]: Invalid value: "slab_sizes": the value of slab_sizes must be given'],
    [
      ['-o', 'slab_automove_ratio=1.1'],
      '[0]: Invalid value: "slab_automove_ratio=1.1": the value of slab_automove_ratio must be a number above 0 and of at most 1',
    ],
    [
      ['-o', 'hash_algorithm=md5'],
      '[0]: Invalid value: "hash_algorithm=md5": the value of hash_algorithm must be one of jenkins, murmur3, xxh3',
    ],
    [
      ['-o', 'slab_chunk_max=x'],
      '[0]: Invalid value: "slab_chunk_max=x": the value of slab_chunk_max must be a whole number',
    ],
    [
      ['-o', 'ext_path=/dev/shm/x'],
      '[0]: Invalid value: "ext_path=/dev/shm/x": the value of ext_path must be a file, ":" and a size in m, g, t or p, such as /dev/shm/cache:64m, with an optional ":" and one of compact, lowttl, chunked, default, coldcompact, old',
    ],
    [
      ['-o', 'constructor'],
      '[0]: Invalid value: "constructor": memcached has no such extended option (-o) and would not start',
    ],
    [
      ['-D', '\0'],
      '[1]: Invalid value: "\\u0000": an argument must not contain the character NUL: no program can be started with it',
    ],
    [['-o', ',modern'], '[0]: Invalid value: "": memcached has no such extended option (-o) and would not start'],
    [['-o', 'foo'], '[0]: Invalid value: "foo": memcached has no such extended option (-o) and would not start'],
  ] as const)('%j', ([args, problem]) => {
    expect(problems(args)).toEqual([`spec.memcached.extraArgs${problem}`]);
  });
});

test('no more is read than anybody would write', () => {
  expect(problems(['-'.padEnd(8191, 'v')])).toEqual([]);
  for (const args of [['-'.padEnd(8192, 'v')], Array<string>(300_000).fill('-v')])
    expect(problems(args)).toEqual(['spec.memcached.extraArgs: Too long: may not be more than 8192 bytes']);
});

describe('refused by memcached, taken together', () => {
  test.for([
    [['-o', 'hashpower=12'], 'Invalid value: "hashpower=12": hashpower must be at least 13 with 4 threads'],
    [['-N', '5'], 'Invalid value: "-N 5": -N (--napi-ids) must not exceed the number of threads (4)'],
    [
      ['-o', 'hot_lru_pct=41'],
      'Invalid value: "hot_lru_pct=41,warm_lru_pct=40": hot_lru_pct and warm_lru_pct must not be more than 80 together',
    ],
    [
      ['-o', 'temporary_ttl=61', '-o', 'no_lru_maintainer'],
      'Invalid value: "temporary_ttl": temporary_ttl needs lru_maintainer: remove no_lru_maintainer and no_modern',
    ],
    [
      ['-o', 'slab_chunk_max=3'],
      'Invalid value: "slab_chunk_max=3": slab_chunk_max must be a power of two from 1 to 1024',
    ],
    [
      ['-o', 'no_chunked_items,slab_chunk_max=0'],
      'Invalid value: "slab_chunk_max=0": slab_chunk_max must be a power of two from 1 to 1024',
    ],
    [
      ['-o', 'slab_sizes=100-108'],
      'Invalid value: "slab_sizes=100-108": slab_sizes must be at most 62 numbers from 48 to 524288, joined by "-", each more than 8 above the one before',
    ],
    [
      ['-n', '200', '-o', 'slab_sizes=100'],
      'Invalid value: "slab_sizes=100": slab_sizes must be at most 62 numbers from 200 to 524288, joined by "-", each more than 8 above the one before',
    ],
    [
      ['-o', 'ext_path=/tmp/x:64m'],
      'Invalid value: "ext_path=/tmp/x": ext_path must be a file in /dev/shm: nothing else is writable in the container',
    ],
    [
      ['-o', 'ext_path=/dev/shm/x:64m,ext_wbuf_size=6'],
      'Invalid value: "ext_page_size=64,ext_wbuf_size=6": ext_wbuf_size must be even, and ext_page_size a multiple of it of at most 4094',
    ],
    [
      ['-o', 'ext_path=/dev/shm/x:63m'],
      'Invalid value: "ext_path with 63m": each file must have room for a page (ext_page_size, 64m), and all together for at most 65534',
    ],
  ] as const)('%j', ([args, problem]) => {
    expect(problems(args)).toEqual([`spec.memcached.extraArgs: ${problem}`]);
  });

  test.for([
    [['-o', 'hashpower=12,hashpower=13']],
    [['-o', 'hot_lru_pct=41,warm_lru_pct=39']],
    [['-o', 'no_modern,temporary_ttl=61,lru_maintainer']],
    [['-o', 'slab_chunk_max=3,slab_chunk_max=512']],
    [['-o', 'slab_sizes=48-57-66']],
    [['-o', 'ext_path=/dev/shm/x:8m,ext_page_size=8']],
  ])('but not %j', ([args = []]) => {
    expect(problems(args)).toEqual([]);
  });

  test('items that external storage cannot hold', () => {
    const { spec, ...rest } = memcached(['-o', 'ext_path=/dev/shm/x:64m']);
    const found = validate({ ...rest, spec: { memcached: { ...spec.memcached, maxItemSize: '5m' } } });
    expect(describeErrors(found)).toBe(
      'spec.memcached.maxItemSize: Invalid value: "5m": maxItemSize must not exceed ext_wbuf_size (4m) when there is external storage',
    );
  });

  test('other places are writable in a container that says so', () => {
    const { spec, ...rest } = memcached(['-o', 'ext_path=/tmp/x:64m']);
    const security = { containerSecurityContext: { readOnlyRootFilesystem: false } };
    expect(validate({ ...rest, spec: { ...spec, security } })).toEqual([]);
  });
});

test('words that memcached ignores are worth a warning', () => {
  expect(warningsAbout(memcached(['foo', '-f', '2', '-', '']))).toContain(
    'spec.memcached.extraArgs: memcached ignores "foo", "-", ""; remove it',
  );
});
