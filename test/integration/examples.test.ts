/** Every example, applied as a user would, becomes the objects in golden/, and nothing else. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { type Memcached, memcachedKind } from '../../src/api/index.ts';
import { children } from '../../src/children/index.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { ROOT } from '../support/cluster.ts';
import { ownPart, stage, until } from '../support/memcacheds.ts';
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
