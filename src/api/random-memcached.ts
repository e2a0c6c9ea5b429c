/** Random Memcacheds of every shape that the schema allows, for property tests. */
import fc from 'fast-check';
import { type Memcached, type MemcachedSpec, memcachedKind } from './memcached.ts';
import { labelKey, randomKubernetes } from './random-kubernetes.ts';
import type { Schema } from './schema/json-schema.ts';
import { specSchema } from './schema/spec.ts';
import { validate } from './validation/index.ts';

const image = fc.constantFrom(
  '',
  'memcached',
  'memcached:1.6.45',
  'registry.example:5000/cache/memcached:1.6-alpine',
  `memcached@sha256:${'0'.repeat(64)}`,
);

/** Fields for which the schema allows more than Kubernetes or memcached do. */
const named: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  image,
  exporterImage: image,
  priorityClassName: fc.constantFrom('', 'high', 'system-cluster-critical'),
  extraArgs: fc.oneof(
    fc.constantFrom([], ['-o', 'modern'], ['-C', '-F'], ['-o', 'idle_timeout=60', '-f', '1.1'], ['--verbose']),
    fc.array(fc.string(), { maxLength: 3 }),
  ),
};

/** Everything that the schema allows; Kubernetes' own types with some values each. */
export function valueOf(schema: Schema): fc.Arbitrary<unknown> {
  const { type, items, properties, additionalProperties, enum: values } = schema;
  if (schema.embedded !== undefined) return randomKubernetes[schema.embedded] ?? fc.constant({});
  if (values) return fc.constantFrom(...values);
  if (schema['x-kubernetes-int-or-string']) return fc.oneof(fc.nat(64), text(schema));
  if (type === 'boolean') return fc.boolean();
  if (type === 'integer') return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 1000 });
  if (items) return listOf(items, schema['x-kubernetes-list-map-keys']);
  if (additionalProperties) {
    const keys = fc.oneof({ arbitrary: labelKey, weight: 5 }, fc.string({ minLength: 1 }));
    return fc.dictionary(keys, valueOf(additionalProperties), { maxKeys: 3, noNullPrototype: true });
  }
  if (!properties) return text(schema);
  const fields = Object.entries(properties).map(([name, field]) => [name, named[name] ?? valueOf(field)] as const);
  const requiredKeys = [...(schema.required ?? [])];
  return fc.record(Object.fromEntries(fields), { requiredKeys, noNullPrototype: true });
}

/** Without two items that have the same keys. */
function listOf(items: Schema, keys: readonly string[] | undefined): fc.Arbitrary<unknown> {
  if (!keys) return fc.array(valueOf(items), { maxLength: 3 });
  const selector = (item: unknown) => JSON.stringify(keys.map((key) => (item as Record<string, unknown>)[key]));
  return fc.uniqueArray(valueOf(items), { maxLength: 3, selector });
}

function text({ pattern, maxLength = 253 }: Schema): fc.Arbitrary<string> {
  return pattern === undefined ? fc.string({ maxLength }) : fc.stringMatching(new RegExp(pattern), { maxLength });
}

/** Most are invalid in some way that the schema does not see. */
export const randomMemcached: fc.Arbitrary<Memcached> = valueOf(specSchema).map((spec) => ({
  apiVersion: memcachedKind.apiVersion,
  kind: memcachedKind.kind,
  metadata: { name: 'random', namespace: 'default', uid: 'uid-1', generation: 1 },
  spec: spec as MemcachedSpec,
}));

/** Nothing is wrong with these. */
export const randomValidMemcached: fc.Arbitrary<Memcached> = randomMemcached
  .map(repaired)
  .filter((memcached) => memcached !== undefined);

/** Without what makes it invalid. */
function repaired(random: Memcached): Memcached | undefined {
  const copy = structuredClone(random);
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const [error] = validate(copy);
    if (!error) return copy;
    if (!remove(copy, error.field.split(/[.[\]]+/).filter(Boolean))) return undefined;
  }
  return undefined;
}

/** Takes away the innermost part of the path that is there. */
function remove(from: unknown, names: readonly string[]): boolean {
  const [name = '', ...rest] = names;
  if (typeof from !== 'object' || from === null || !(name in from)) return false;
  const object = from as Record<string, unknown>;
  if (rest.length > 0 && remove(object[name], rest)) return true;
  if (name === 'spec') return false;
  if (Array.isArray(object)) object.splice(Number(name), 1);
  else delete object[name];
  return true;
}
