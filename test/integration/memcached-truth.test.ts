/** What is admitted starts, and what is refused would not: the rules about memcached's settings against memcached itself. */
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { run } from '../../devcluster/command.ts';
import { type Memcached, type MemcachedSpec, memcachedKind, validate, withDefaults } from '../../src/api/index.ts';
import { deploymentFor } from '../../src/children/deployment.ts';
import { createCertificate } from '../../src/runtime/certificates/certificate.ts';
import { memcachedRoot, tryMemcached } from '../support/memcached-binary.ts';
import { randomSettings, readHelp } from '../support/random-arguments.ts';

const SPECS = 600;
const AT_ONCE = 32 * availableParallelism();
/** What lives so long lives; what is to end has more time for it. */
const LIVES_MS = 1000;
const ENDS_WITHIN_MS = 60_000;

let root: string;

beforeAll(async () => {
  root = await memcachedRoot(new AbortController().signal);
  const directory = path.join(root, 'etc/memcached/tls');
  await mkdir(directory, { recursive: true });
  const life = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 3_600_000) };
  const { certificate, key } = createCertificate({ subject: 'truth', ...life });
  await writeFile(path.join(directory, 'tls.crt'), certificate);
  await writeFile(path.join(directory, 'tls.key'), key);
});

function memcached(spec: MemcachedSpec): Memcached {
  const { apiVersion, kind } = memcachedKind;
  return { apiVersion, kind, metadata: { name: 'truth', namespace: 'default', uid: 'uid' }, spec };
}

function commandLine(spec: MemcachedSpec): readonly string[] {
  const surroundings = { tls: { hash: '', hasCa: false }, authentication: { hash: '', form: 'sasl' } } as const;
  const { containers } = deploymentFor(withDefaults(memcached(spec)), surroundings).spec.template.spec;
  return containers.find(({ name }) => name === 'memcached')?.args ?? [];
}

const isAdmitted = (spec: MemcachedSpec) => validate(memcached(spec)).length === 0;

/** Where the rules and memcached do not agree; nothing where they do. */
async function disagreement(spec: MemcachedSpec): Promise<string[]> {
  const refused = validate(memcached(spec)).map(({ field, message }) => `${field}: ${message}`);
  const args = commandLine(spec);
  const fate = await tryMemcached(root, args, refused.length === 0 ? LIVES_MS : ENDS_WITHIN_MS);
  if ((fate === 'alive') === (refused.length === 0)) return [];
  const end = fate === 'alive' ? 'runs' : `ends: ${fate.lastWords}`;
  return [`memcached ${JSON.stringify(args)}\n  ${end}\n  ${refused.join('\n  ') || 'admitted'}`];
}

/** Many at a time, because each takes a second of waiting and little else. */
async function disagreements(specs: readonly MemcachedSpec[]): Promise<string[]> {
  const found: string[] = [];
  const left = specs.values();
  const lane = async () => {
    for (const spec of left) found.push(...(await disagreement(spec)));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return found;
}

test('random settings are admitted exactly when memcached starts with them', async () => {
  const help = readHelp(await run('chroot', [root, '/usr/local/bin/memcached', '-h']));
  const seed = Number(process.env['TRUTH_SEED'] ?? Date.now() % 2 ** 31);
  const specs = fc.sample(randomSettings(help), { numRuns: SPECS, seed });
  const admitted = specs.filter(isAdmitted).length;
  console.log(`${specs.length} specs of TRUTH_SEED=${seed}, ${admitted} of them admitted`);
  expect((await disagreements(specs)).join('\n')).toBe('');
});

type Settings = NonNullable<MemcachedSpec['memcached']>;

/** Where the rules were once wrong, or could easily be. */
const runs: readonly Settings[] = [
  ...[
    ['-D', '--'],
    ['-D', ' #'],
    ['-o', ''],
    ['-o', 'modern,'],
    ['-o', ' modern'],
    ['-o', 'modern=1'],
  ].map(withArgs),
  ...[['--napi-ids=4'], ['-f', '1.5x'], ['-b', 'x'], ['-o', 'sock_cookie_id=x'], ['-o', 'slab_automove']].map(withArgs),
  ...[
    ['-o', 'hashpower=13'],
    ['-o', 'hashpower=12,hashpower=13'],
    ['-o', 'hashpower=13abc'],
  ].map(withArgs),
  ...[
    ['-o', 'no_modern,temporary_ttl=61,lru_maintainer'],
    ['-o', 'slab_sizes=48-57'],
    ['-o', 'slab_sizes=-'],
  ].map(withArgs),
  ...[
    ['-o', 'ext_path=/dev/shm/x:64m'],
    ['-o', 'ext_page_size=7'],
    ['-o', 'ext_path=/dev/shm/x:8m,ext_page_size=8'],
  ].map(withArgs),
  { threads: 2, extraArgs: ['-o', 'hashpower=12'] },
  { maxItemSize: '96k', extraArgs: ['-o', 'slab_chunk_max=16'] },
  { maxItemSize: '1m', extraArgs: ['-o', 'slab_chunk_max=3,no_chunked_items'] },
  { maxItemSize: '1m', extraArgs: ['-o', 'slab_chunk_max=3', '-o', 'slab_chunk_max=512'] },
  { maxItemSize: '1536k', extraArgs: ['-o', 'no_chunked_items'] },
  { maxItemSize: '8704k', maxMemoryMB: 17 },
  { maxConnections: 29 },
  { maxConnections: 30, extraArgs: ['-o', 'ext_path=/dev/shm/x:64m'] },
  { maxConnections: 649, threads: 128 },
];

const ends: readonly Settings[] = [
  ...[['-D', ' '], ['-n', '0.5'], ['-f', 'nan'], ['--napi_ids=1'], ['-N', '5'], ['-o', ',modern'], ['-o']].map(
    withArgs,
  ),
  ...[
    ['-o', 'sock_cookie_id'],
    ['-o', 'slab_sizes'],
    ['-o', 'slab_sizes='],
    ['-o', 'slab_sizes=100-108'],
  ].map(withArgs),
  ...[
    ['-o', 'hashpower=12'],
    ['-o', 'hashpower=11'],
    ['-o', 'hot_lru_pct=41'],
    ['-o', 'slab_chunk_max=3'],
    ['-o', 'slab_chunk_max=0'],
    ['-o', 'slab_chunk_max=2048'],
    ['-o', 'no_chunked_items,slab_chunk_max=3'],
  ].map(withArgs),
  ...[
    ['-o', 'temporary_ttl=61,no_lru_maintainer'],
    ['-o', 'lru_crawler_tocrawl=1x'],
    ['-o', 'track'],
  ].map(withArgs),
  ...[
    ['-o', 'ext_path=/tmp/x:64m'],
    ['-o', 'ext_path=/dev/shm/x:63m'],
    ['-o', 'ext_path=/dev/shm/x:4096g'],
  ].map(withArgs),
  ...[
    ['-o', 'ext_path=/dev/shm/x:64m,ext_wbuf_size=6'],
    ['-o', 'ext_path=/dev/shm/x:64'],
  ].map(withArgs),
  { maxItemSize: '5m', extraArgs: ['-o', 'ext_path=/dev/shm/x:64m'] },
  { maxItemSize: '512k', extraArgs: ['-o', 'no_chunked_items'] },
  { maxItemSize: '700k' },
  { maxItemSize: '9m', maxMemoryMB: 17 },
  { maxConnections: 27 },
  { maxConnections: 647, threads: 128 },
];

function withArgs(extraArgs: readonly string[]): Settings {
  return { extraArgs };
}

test.for([
  ['runs', runs],
  ['ends', ends],
] as const)('memcached %s, and the rules know it', async ([fate, all]) => {
  const specs = all.map((settings) => ({ memcached: settings }));
  expect(specs.filter((spec) => isAdmitted(spec) !== (fate === 'runs'))).toEqual([]);
  expect((await disagreements(specs)).join('\n')).toBe('');
});

test('what starts, but not as it was meant, is refused all the same', async () => {
  const misleading: readonly Settings[] = [
    { maxConnections: 28 }, // leaves no descriptor for a client
    { maxConnections: 648, threads: 128 }, // the same
    { maxItemSize: '4097m', maxMemoryMB: 16_384 }, // is taken for 1m
    withArgs(['--', '-o', 'nothing']), // is ignored
  ];
  for (const settings of misleading) {
    expect(isAdmitted({ memcached: settings })).toBe(false);
    expect(await tryMemcached(root, commandLine({ memcached: settings }), LIVES_MS)).toBe('alive');
  }
});
