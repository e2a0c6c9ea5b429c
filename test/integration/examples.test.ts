/** Every example, applied as a user would, becomes the objects in golden/, and nothing else; and what the documentation shows works. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { run } from '../../devcluster/command.ts';
import { kubeconfigOf } from '../../devcluster/instance.ts';
import { programPath } from '../../devcluster/programs.ts';
import { type Memcached, memcachedKind, validate, withDefaults } from '../../src/api/index.ts';
import { children } from '../../src/children/index.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { ROOT } from '../support/cluster.ts';
import { blocksOf, commandsOf, pages } from '../support/documentation.ts';
import { memcached, ownPart, stage, until } from '../support/memcacheds.ts';
import { certificate } from '../support/secrets.ts';
import { installServiceMonitors } from '../support/service-monitors.ts';

const at = stage({ name: 'test-examples', form: 'none' });

const files = [
  ...readdirSync(path.join(ROOT, 'examples')).map((name) => `examples/${name}`),
  'config/samples/memcached_v1alpha1_memcached.yaml',
];

beforeAll(async () => {
  await installServiceMonitors(at.cluster, at.signal);
  await at.cluster.kubectl(['create', 'namespace', 'production']);
  const { certificate: crt, key } = certificate();
  const secrets = {
    'memcached-tls': { 'tls.crt': crt, 'tls.key': key },
    'memcached-sasl-credentials': { 'memcached-sasl-db': 'keystone@secure-cache:a-good-password\n' },
  };
  for (const [name, stringData] of Object.entries(secrets)) {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'production' }, stringData };
    await at.cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(secret) });
  }
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

/** The Memcacheds that a page shows. Whatever else it shows as YAML has to be such. */
function shown(page: string): Memcached[] {
  const documents = blocksOf(page, 'yaml').flatMap((block) => parseAllDocuments(block));
  expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
  return documents
    .map((document) => document.toJS() as Memcached | undefined)
    .filter((object) => object?.kind === memcachedKind.kind) as Memcached[];
}

test('every Memcached in the documentation would be admitted', async ({ signal }) => {
  const found = pages.flatMap((page) => shown(page).map((object) => ({ page, object })));
  console.log(`${found.length} Memcacheds in ${new Set(found.map(({ page }) => page)).size} pages`);
  expect(found.length).toBeGreaterThan(8);
  const refused = found.flatMap(({ page, object }) =>
    validate(withDefaults(object)).map(({ field, message }) => `${page}: ${field}: ${message}`),
  );
  expect(refused).toEqual([]);
  // In the end it is the API server that knows its fields.
  const input = found.map(({ object }) => JSON.stringify(object)).join('\n---\n');
  await at.cluster.kubectl(['create', '--dry-run=server', '--validate=strict', '-f', '-'], { input, signal });
});

test('the commands of the pages for troubles work', async ({ signal }) => {
  const everything = memcached('my-cache', {
    replicas: 1,
    monitoring: { enabled: true },
    networkPolicy: { enabled: true },
  });
  await at.client.create(memcachedKind, everything);
  const isComplete = () =>
    at.cluster.kubectl([
      'get',
      'servicemonitor,networkpolicy,deployment,service',
      'my-cache',
      '--ignore-not-found',
      '-o',
      'name',
    ]);
  await until(at, 'it is carried out', isComplete, (names) => names.trim().split('\n').length === 4, signal);

  // Without nodes there are no pods to read logs of; and some commands end only with their user.
  const commands = ['docs/troubleshooting.md', 'docs/conditions.md']
    .flatMap(commandsOf)
    .filter((line) => !/^kubectl (logs|port-forward|wait) /.test(line));
  expect(commands.length).toBeGreaterThan(15);
  const env = {
    KUBECONFIG: kubeconfigOf(at.cluster.instance),
    PATH: `${path.dirname(programPath('kubectl'))}:/usr/bin:/bin`,
  };
  for (const command of new Set(commands)) await run('bash', ['-c', command], { env, signal });
  console.log(`${commands.length} commands`);
});
