/** Every example, applied as a user would, becomes the objects in golden/, and nothing else; and what the documentation shows works. */
import { readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { run } from '../../devcluster/command.ts';
import { kubeconfigOf } from '../../devcluster/instance.ts';
import { programPath } from '../../devcluster/programs.ts';
import { type Memcached, memcachedKind, validate, withDefaults } from '../../src/api/index.ts';
import { children } from '../../src/children/index.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { ROOT } from '../support/cluster.ts';
import { blocksOf, commandsOf, pages } from '../support/documentation.ts';
import { prepareForExamples } from '../support/example-surroundings.ts';
import { memcached, ownPart, stage, until } from '../support/memcacheds.ts';
import { installPrometheusRules, installServiceMonitors } from '../support/service-monitors.ts';

const at = stage({ name: 'test-examples', form: 'none' });

const files = [
  ...readdirSync(path.join(ROOT, 'examples')).map((name) => `examples/${name}`),
  'config/samples/memcached_v1alpha1_memcached.yaml',
];

beforeAll(async () => {
  await installServiceMonitors(at.cluster, at.signal);
  await prepareForExamples(at.cluster);
});

afterEach(() => at.operator.assertAlive());

function golden(file: string, uid: string): unknown[] {
  const text = readFileSync(path.join(import.meta.dirname, 'golden', path.basename(file)), 'utf8');
  return parseAllDocuments(text.replaceAll('<uid>', uid)).map((document) => document.toJS() as unknown);
}

/** All children that the Memcached has, in their order; of each what the operator has set, without the hashes of Secrets. */
async function made(namespace: string, name: string): Promise<unknown[]> {
  const found = await Promise.all(
    children
      .filter(({ followsPods }) => !followsPods) // without pods there are none of ours, and Kubernetes has its own with our labels
      .map(async ({ kind }) => (await at.client.list<KubernetesObject>(kind, { namespace })).items),
  );
  const ours = found.flat().filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/instance'] === name);
  const text = JSON.stringify(ours.map(ownPart));
  return JSON.parse(text.replaceAll(/(?<=-secret-hash":")[^"]+/g, '<hash>')) as unknown[];
}

test.for(files)('%s', async (file, { signal }) => {
  const { metadata } = parse(readFileSync(path.join(ROOT, file), 'utf8')) as Memcached;
  const { name, namespace = 'default' } = metadata;
  await at.cluster.kubectl(['apply', '-f', path.join(ROOT, file)], { signal });
  const look = () => at.client.get<Memcached>(memcachedKind, name, namespace);
  const isCarriedOut = (seen: Memcached) => seen.status?.observedGeneration === seen.metadata.generation;
  const { value, ms } = await until(at, `${file} is carried out`, look, isCarriedOut, signal);
  const objects = await made(namespace, name);
  console.log(`${objects.length} objects after ${Math.round(ms)} ms`);
  expect(objects).toEqual(golden(file, value.metadata.uid ?? ''));

  await at.cluster.kubectl(['delete', '-f', path.join(ROOT, file)], { signal }); // some have the same name
  const rest = () => made(namespace, name);
  await until(at, 'it is gone', rest, ({ length }) => length === 0, signal);
});

/** What pages show as YAML and nobody here can be asked about, and why. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'docs/installation.md: args': 'a line of a Deployment',
  'docs/olm.md: Kustomization': 'read by kustomize: it has a test of its own',
  'docs/tls.md: Certificate': 'of cert-manager, which this cluster does not know',
};

/** A document in YAML of a page, with a name that says where it is. */
interface Shown {
  readonly what: string;
  readonly object: Partial<KubernetesObject>;
}

/** Everything that a page shows as YAML. A spec alone is that of a Memcached. */
function shown(page: string): Shown[] {
  const documents = blocksOf(page, 'yaml').flatMap((block) => parseAllDocuments(block));
  expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
  return documents.map((document) => {
    const object = (document.toJS() ?? {}) as Partial<Memcached>;
    const keys = Object.keys(object).join();
    if (keys === 'spec') return { what: `${page}: spec`, object: memcached('unnamed', object.spec) };
    return { what: `${page}: ${object.kind ?? keys}`, object };
  });
}

test('the alerts are what the Prometheus operator takes', async ({ signal }) => {
  await installPrometheusRules(at.cluster, signal);
  const flags = ['--dry-run=server', '--validate=strict', '-o', 'name'];
  const said = await at.cluster.kubectl(['apply', '-k', path.join(ROOT, 'config/prometheus'), ...flags], { signal });
  expect(said).toContain('prometheusrule.monitoring.coreos.com/memcached-operator-alerts');
});

test('everything in the documentation would be admitted', async ({ signal }) => {
  const all = pages.flatMap(shown);
  const names = new Set(all.map(({ what }) => what));
  expect(Object.keys(ELSEWHERE).filter((what) => !names.has(what))).toEqual([]); // nor is it forgotten there
  const found = all.filter(({ what }) => !Object.hasOwn(ELSEWHERE, what));
  const isObject = ({ object }: Shown) => object.apiVersion !== undefined && object.kind !== undefined;
  expect(found.filter((one) => !isObject(one)).map(({ what }) => what)).toEqual([]);

  const memcacheds = found.filter(({ object }) => object.kind === memcachedKind.kind);
  console.log(`${memcacheds.length} Memcacheds, ${found.length - memcacheds.length} others`);
  expect(memcacheds.length).toBeGreaterThan(10);
  const refused = memcacheds.flatMap(({ what, object }) =>
    validate(withDefaults(object as Memcached)).map(({ field, message }) => `${what}: ${field}: ${message}`),
  );
  expect(refused).toEqual([]);
  // In the end it is the API server that knows its kinds and their fields.
  const input = found.map(({ object }) => JSON.stringify(object)).join('\n---\n');
  await at.cluster.kubectl(['create', '--dry-run=server', '--validate=strict', '-f', '-'], { input, signal });
});

test('the page for the Lifecycle Manager brings monitoring to where the operator is', async ({ signal }) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'monitoring-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const [config, own] = [path.join(directory, 'config/prometheus'), path.join(directory, 'monitoring')];
  await cp(path.join(ROOT, 'config/prometheus'), config, { recursive: true });
  await mkdir(own);
  await writeFile(path.join(own, 'kustomization.yaml'), blocksOf('docs/olm.md', 'yaml')[0] ?? '');
  const text = await at.cluster.kubectl(['kustomize', own], { signal });
  const objects = parseAllDocuments(text).map((document) => document.toJS() as KubernetesObject);
  expect(objects.map(({ kind, metadata }) => `${kind} in ${metadata.namespace}`).toSorted()).toEqual([
    'PrometheusRule in operators',
    'ServiceMonitor in operators',
  ]);
});

/** Runs commands as somebody would who reads them, in a directory of his own. */
async function type(commands: readonly string[], cwd: string, signal: AbortSignal): Promise<void> {
  const PATH = `${path.dirname(programPath('kubectl'))}:/usr/bin:/bin`;
  const env = { KUBECONFIG: kubeconfigOf(at.cluster.instance), PATH };
  for (const command of commands) await run('bash', ['-c', command], { cwd, env, signal });
  console.log(`${commands.length} commands`);
}

/** Those that need no pods, of which there are none without nodes, and that end by themselves. */
const alone = (command: string) => command.startsWith('kubectl ') && !/ (logs|port-forward|wait) /.test(command);

test('the commands of the pages for troubles work', async ({ signal }) => {
  const everything = memcached('my-cache', {
    replicas: 1,
    monitoring: { enabled: true },
    networkPolicy: { enabled: true },
  });
  await at.client.create(memcachedKind, everything);
  const kinds = 'servicemonitor,networkpolicy,deployment,service';
  const names = () => at.cluster.kubectl(['get', kinds, 'my-cache', '--ignore-not-found', '-o', 'name']);
  await until(at, 'it is carried out', names, (seen) => seen.trim().split('\n').length === 4, signal);
  const commands = ['docs/troubleshooting.md', 'docs/conditions.md', 'docs/runbooks.md']
    .flatMap(commandsOf)
    .filter(alone)
    .map((command) => command.replaceAll(/\bNS\b/g, 'default').replaceAll(/\bNAME\b/g, 'my-cache'));
  expect(commands.length).toBeGreaterThan(15);
  await type([...new Set(commands)], tmpdir(), signal);
  await at.cluster.kubectl(['delete', 'mc', 'my-cache']);
});

test('the commands of the quick start work', async ({ signal }) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'quick-start-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const page = 'docs/quick-start.md';
  await writeFile(path.join(directory, 'my-cache.yaml'), blocksOf(page, 'yaml')[0] ?? '');
  const commands = commandsOf(page).filter(alone);
  const isTooMuch = (command: string) => command.includes('"replicas":100');
  const [refused = '', ...others] = commands.filter(isTooMuch);
  expect(others).toEqual([]);
  expect(commands.length).toBeGreaterThan(7);
  const last = commands.length - 1; // it deletes what the others are about
  await type(
    commands.slice(0, last).filter((command) => !isTooMuch(command)),
    directory,
    signal,
  );
  await expect(type([refused], directory, signal)).rejects.toThrow(/less than or equal to 64/);
  await type(commands.slice(last), directory, signal);
});
