/** The CustomResourceDefinition, made from the schema. */
import { GROUP, memcachedKind, VERSION } from '../api/memcached.ts';
import type { Schema } from '../api/schema/json-schema.ts';
import { specSchema } from '../api/schema/spec.ts';
import { statusSchema } from '../api/schema/status.ts';

/** Schemas of Kubernetes' own types, by name. */
export type KubernetesSchemas = Readonly<Record<string, object>>;

export const DESCRIPTION =
  'A Memcached is a cache: a number of memcached servers that clients reach by stable names, and that the operator runs, watches and repairs.';

const printerColumns = [
  { name: 'Replicas', type: 'integer', jsonPath: '.status.replicas', description: 'Servers that are wanted' },
  { name: 'Ready', type: 'integer', jsonPath: '.status.readyReplicas', description: 'Servers that are ready' },
  {
    name: 'Status',
    type: 'string',
    jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
    description: 'Why it is ready, or why it is not',
  },
  {
    name: 'Hit ratio',
    type: 'string',
    jsonPath: '.status.hitRatio',
    description: 'Share of gets that found their key',
  },
  { name: 'Version', type: 'string', jsonPath: '.status.memcachedVersion', description: 'Version of memcached' },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
];

export function crd(kubernetesSchemas: KubernetesSchemas): object {
  const { kind, plural } = memcachedKind;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${GROUP}`, labels: { 'app.kubernetes.io/name': 'memcached-operator' } },
    spec: {
      group: GROUP,
      names: { kind, listKind: `${kind}List`, plural, singular: 'memcached', shortNames: ['mc'] },
      scope: 'Namespaced',
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          additionalPrinterColumns: printerColumns,
          schema: { openAPIV3Schema: rootSchema(kubernetesSchemas) },
          subresources: {
            status: {},
            scale: {
              specReplicasPath: '.spec.replicas',
              statusReplicasPath: '.status.replicas',
              labelSelectorPath: '.status.selector',
            },
          },
        },
      ],
    },
  };
}

function rootSchema(kubernetesSchemas: KubernetesSchemas): object {
  return {
    description: DESCRIPTION,
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string', description: 'Group and version of the API that this object is written in.' },
      kind: { type: 'string', description: 'Kind of the object: Memcached.' },
      metadata: { type: 'object' },
      spec: structural(specSchema, kubernetesSchemas),
      status: structural(statusSchema, kubernetesSchemas),
    },
  };
}

/** The schema as a CRD wants it: with Kubernetes' own schemas in their places. */
function structural(schema: Schema, kubernetesSchemas: KubernetesSchemas): object {
  const { embedded, properties, items, additionalProperties, ...rules } = schema;
  if (embedded !== undefined) {
    const kubernetesSchema = kubernetesSchemas[embedded];
    if (!kubernetesSchema) throw new Error(`${embedded} is not among the schemas of Kubernetes`);
    return { ...kubernetesSchema, ...rules };
  }
  const inner = (part: Schema) => structural(part, kubernetesSchemas);
  return {
    ...rules,
    ...(items && { items: inner(items) }),
    ...(additionalProperties && { additionalProperties: inner(additionalProperties) }),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, inner(part)])),
    }),
  };
}
