/** docs/validation.md tells all rules and no others, in their own words. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { withDefaults } from '../defaults.ts';
import { type Memcached, type MemcachedSpec, memcachedKind } from '../memcached.ts';
import { checks, warnings } from './index.ts';
import { OPTIONS } from './memcached-options.ts';

const text = readFileSync(path.resolve(import.meta.dirname, '../../../docs/validation.md'), 'utf8');
const [refused = '', options = '', warned = ''] = text
  .split(/^## (?:Refused|Options of memcached|Warned about)$/m)
  .slice(1);

function memcached(spec: MemcachedSpec, name = 'my-cache'): Memcached {
  const { apiVersion, kind } = memcachedKind;
  return { apiVersion, kind, metadata: { name }, spec };
}

const args = (...extraArgs: readonly string[]): MemcachedSpec => ({ memcached: { extraArgs } });
const budget = (podDisruptionBudget: object, spec: MemcachedSpec = {}): MemcachedSpec => ({
  ...spec,
  highAvailability: { podDisruptionBudget: { enabled: true, ...podDisruptionBudget } },
});
const sasl = { enabled: true, credentialsSecretRef: { name: 'sasl' } };

/** For each rule, something that breaks it; where it has several texts, for each of them. */
const mistakes: readonly Memcached[] = [
  memcached({}, '1'),
  ...[
    { resources: { requests: { memory: '2Gi', cpu: 'x' }, limits: { memory: '1Mi' } } },
    { memcached: { maxItemSize: '5m', maxConnections: 1, extraArgs: ['-o', 'ext_path=/dev/shm/x:64m'] } },
    { memcached: { maxItemSize: '700k' } },
    args('-'.padEnd(9000, 'v')),
    args('-D', '\0'),
    args('-m', '1', '-o', 'ssl_key=x,proxy_config=x', '--'),
    args('-Q'),
    args('-o', 'nothing'),
    args('-f'),
    args('--disable-cas=1'),
    args('-f', '1'),
    args('-o', 'hashpower=12,hot_lru_pct=79,temporary_ttl=1,no_modern,slab_sizes=1', '-N', '9'),
    args('-o', 'slab_chunk_max=3'),
    args('-o', 'ext_path=/tmp/x:1m,ext_page_size=7'),
    budget({ minAvailable: 1, maxUnavailable: 1 }),
    budget({}),
    budget({ minAvailable: 1 }),
    budget({ minAvailable: '100%' }),
    budget({ maxUnavailable: '0%' }),
    { highAvailability: { gracefulShutdown: { enabled: true, preStopDelaySeconds: 99 } } },
    { security: { sasl: { enabled: true }, tls: { enabled: true } } },
    { security: { tls: { enableClientCert: true }, networkPolicy: {} }, networkPolicy: {} },
    { replicas: 1, autoscaling: { enabled: true } },
    { autoscaling: { enabled: true, minReplicas: 5, maxReplicas: 1 } },
    { podLabels: { '-': '' } },
  ].map((spec) => memcached(spec)),
];

const regrets: readonly Memcached[] = [
  { image: 'memcached' },
  { image: 'memcached:1.6.18', monitoring: { enabled: true }, security: { sasl } },
  { resources: { limits: { memory: '96Mi' } } },
  { memcached: { maxConnections: 30, threads: 4, verbosity: 2, extraArgs: ['word'] } },
  { memcached: { threads: 65 } },
  budget({ maxUnavailable: 0 }),
  budget({ minAvailable: '99%' }, { replicas: 3 }),
  budget({ minAvailable: 5 }, { autoscaling: { enabled: true, maxReplicas: 9 } }),
  { highAvailability: { gracefulShutdown: { preStopDelaySeconds: 5 } } },
  { autoscaling: { enabled: true }, monitoring: { enabled: true, serviceMonitor: { scrapeTimeout: '1h' } } },
  { security: { tls: { enabled: true } } },
  { networkPolicy: { enabled: true } },
  { podLabels: { 'app.kubernetes.io/name': 'x' } },
].map((spec) => memcached(spec));

interface Row {
  readonly text: string;
  readonly pattern: RegExp;
}

/** The rows of the tables of a section: field and text as one pattern, in which <…> stands for anything. */
function rowsOf(section: string): Row[] {
  return [...section.matchAll(/^\| `(.+?)` \| `(.+?)` \|/gm)].map(([, field = '', said = '']) => {
    const parts = `${field}: ${said}`.split(/<[^>]+>/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    return { text: `${field}: ${said}`, pattern: new RegExp(`^${parts.join('.+')}$`, 's') };
  });
}

/** What was said that no row tells, and rows that tell what nobody says. */
function disagreement(rows: readonly Row[], said: readonly string[]): object {
  const matching = said.map((sentence) => ({ sentence, rows: rows.filter(({ pattern }) => pattern.test(sentence)) }));
  const told = new Set(matching.flatMap((each) => each.rows));
  return {
    untold: matching.filter((each) => each.rows.length === 0).map(({ sentence }) => sentence),
    unsaid: rows.filter((row) => !told.has(row)).map((row) => row.text),
  };
}

const NONE = { untold: [], unsaid: [] };

test('every rule has its mistake, and the document tells what is said about it', () => {
  const said = checks.map((check) =>
    mistakes.flatMap((mistake) =>
      check(withDefaults(mistake), mistake).map((error) => `${error.field}: ${error.message}`),
    ),
  );
  expect(checks.filter((_, index) => said[index]?.length === 0)).toEqual([]);
  expect(disagreement(rowsOf(refused), said.flat())).toEqual(NONE);
});

test('every warning has its cause, and the document tells it', () => {
  const said = warnings.map((warning) => regrets.flatMap((regret) => warning(withDefaults(regret), regret) ?? []));
  expect(warnings.filter((_, index) => said[index]?.length === 0)).toEqual([]);
  expect(disagreement(rowsOf(warned), said.flat())).toEqual(NONE);
});

test('the document lists the options of memcached', () => {
  const owned = OPTIONS.flatMap(({ letter, name, owned: advice }) =>
    advice === undefined ? [] : [`| \`-${letter}\` (\`--${name}\`) | ${advice} |`],
  );
  expect([...options.matchAll(/^\| `.*$/gm)].map(([line]) => line)).toEqual(owned);
  const allowed = OPTIONS.filter((option) => option.owned === undefined).map(({ letter }) => `-${letter}`);
  expect(options).toContain(`\`${allowed.join(' ')}\``);
});
