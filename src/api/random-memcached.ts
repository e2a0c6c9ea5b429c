/** Random Memcacheds of every shape that the schema allows, for property tests. Most are invalid in some other way. */
import fc from 'fast-check';
import { type Memcached, type MemcachedSpec, memcachedKind } from './memcached.ts';
import type { Schema } from './schema/json-schema.ts';
import { specSchema } from './schema/spec.ts';

const quantity = fc.constantFrom('100m', '1', '0.5', '64Mi', '96Mi', '128Mi', '1Gi', '1.5Gi', '1000M', 1);
const resourceList = fc.record({ cpu: quantity, memory: quantity }, { requiredKeys: [] });
const labelSelector = fc.record({ matchLabels: fc.constantFrom({}, { app: 'my-app' }) }, { requiredKeys: [] });
const target = fc.record({ type: fc.constantFrom('Utilization', 'AverageValue'), averageUtilization: fc.nat(100) });

/** Some values of Kubernetes' own types. */
const embedded: Readonly<Record<string, fc.Arbitrary<object>>> = {
  LocalObjectReference: fc.record({ name: fc.constantFrom('secret-a', 'secret-b') }),
  ResourceRequirements: fc.record({ requests: resourceList, limits: resourceList }, { requiredKeys: [] }),
  Toleration: fc.record(
    { key: fc.constant('dedicated'), operator: fc.constantFrom('Exists', 'Equal'), effect: fc.constant('NoSchedule') },
    { requiredKeys: [] },
  ),
  TopologySpreadConstraint: fc.record({
    maxSkew: fc.integer({ min: 1, max: 5 }),
    topologyKey: fc.constantFrom('topology.kubernetes.io/zone', 'kubernetes.io/hostname'),
    whenUnsatisfiable: fc.constantFrom('DoNotSchedule', 'ScheduleAnyway'),
  }),
  PodSecurityContext: fc.record(
    { runAsUser: fc.nat(65_535), fsGroup: fc.nat(65_535), runAsNonRoot: fc.boolean() },
    { requiredKeys: [] },
  ),
  SecurityContext: fc.record(
    { readOnlyRootFilesystem: fc.boolean(), capabilities: fc.constant({ drop: ['ALL'] }) },
    { requiredKeys: [] },
  ),
  NetworkPolicyPeer: fc.oneof(
    fc.record({ podSelector: labelSelector }),
    fc.record(
      { namespaceSelector: labelSelector, podSelector: labelSelector },
      { requiredKeys: ['namespaceSelector'] },
    ),
    fc.record({ ipBlock: fc.constant({ cidr: '10.0.0.0/8' }) }),
  ),
  MetricSpec: fc.oneof(
    fc.record({
      type: fc.constant('Resource'),
      resource: fc.record({ name: fc.constantFrom('cpu', 'memory'), target }),
    }),
    fc.record({
      type: fc.constant('ContainerResource'),
      containerResource: fc.record({ name: fc.constant('cpu'), container: fc.constant('memcached'), target }),
    }),
  ),
  HorizontalPodAutoscalerBehavior: fc.record({
    scaleDown: fc.record({ stabilizationWindowSeconds: fc.nat(3600) }, { requiredKeys: [] }),
  }),
};

/** Everything that the schema allows; Kubernetes' own types with a few values each. */
export function valueOf(schema: Schema): fc.Arbitrary<unknown> {
  const { type, items, properties, additionalProperties, enum: values } = schema;
  if (schema.embedded !== undefined) return embedded[schema.embedded] ?? fc.constant({});
  if (values) return fc.constantFrom(...values);
  if (schema['x-kubernetes-int-or-string']) return fc.oneof(fc.nat(64), text(schema));
  if (type === 'boolean') return fc.boolean();
  if (type === 'integer') return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 1000 });
  if (items) return fc.array(valueOf(items), { maxLength: 3 });
  if (additionalProperties)
    return fc.dictionary(fc.string({ minLength: 1 }), valueOf(additionalProperties), { maxKeys: 3 });
  if (!properties) return text(schema);
  const fields = Object.entries(properties).map(([name, field]) => [name, valueOf(field)] as const);
  const requiredKeys = [...(schema.required ?? [])];
  return fc.record(Object.fromEntries(fields), { requiredKeys, noNullPrototype: true });
}

function text({ pattern, maxLength = 253 }: Schema): fc.Arbitrary<string> {
  return pattern === undefined ? fc.string({ maxLength }) : fc.stringMatching(new RegExp(pattern), { maxLength });
}

export const randomMemcached: fc.Arbitrary<Memcached> = valueOf(specSchema).map((spec) => ({
  apiVersion: memcachedKind.apiVersion,
  kind: memcachedKind.kind,
  metadata: { name: 'random', namespace: 'default' },
  spec: spec as MemcachedSpec,
}));
