import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { type Memcached, withDefaults } from '../api/index.ts';
import { children } from './index.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const GOLDEN = path.join(ROOT, 'test/integration/golden');
const examples = [
  ...readdirSync(path.join(ROOT, 'examples')).map((name) => `examples/${name}`),
  'config/samples/memcached_v1alpha1_memcached.yaml',
];

/** As the integration test finds them on a real server: here it takes no server to see what a change of a builder changes. */
test.for(examples)('the children of %s are those in the golden file', (file) => {
  const { metadata, ...example } = parse(readFileSync(path.join(ROOT, file), 'utf8')) as Memcached;
  const memcached = { ...example, metadata: { namespace: 'default', uid: '<uid>', ...metadata } };
  const surroundings = {
    tls: { hash: '<hash>', hasCa: false },
    authentication: { hash: '<hash>', form: 'sasl' },
  } as const;
  const golden = readFileSync(path.join(GOLDEN, path.basename(file)), 'utf8');
  expect(children.flatMap(({ build }) => build(withDefaults(memcached), surroundings) ?? [])).toEqual(
    parseAllDocuments(golden).map((document) => document.toJS() as unknown),
  );
});

test('there is no golden file without an example', () => {
  const names = readdirSync(GOLDEN).filter((name) => name.endsWith('.yaml'));
  expect(names.toSorted()).toEqual(examples.map((file) => path.basename(file)).toSorted());
});
