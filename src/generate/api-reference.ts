/** The page of the documentation that lists every field, made from the schema. */
import { GROUP, memcachedKind, VERSION } from '../api/memcached.ts';
import type { Schema } from '../api/schema/json-schema.ts';
import { specSchema } from '../api/schema/spec.ts';
import { statusSchema } from '../api/schema/status.ts';
import { DESCRIPTION } from './crd.ts';

/** Where Kubernetes documents its own types. */
const DOCUMENTED = 'https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36';
const ANCHORS: Readonly<Record<string, string>> = {
  LocalObjectReference: 'localobjectreference-v1-core',
  PodSecurityContext: 'podsecuritycontext-v1-core',
  ResourceRequirements: 'resourcerequirements-v1-core',
  SecurityContext: 'securitycontext-v1-core',
  Toleration: 'toleration-v1-core',
  TopologySpreadConstraint: 'topologyspreadconstraint-v1-core',
  HorizontalPodAutoscalerBehavior: 'horizontalpodautoscalerbehavior-v2-autoscaling',
  MetricSpec: 'metricspec-v2-autoscaling',
  NetworkPolicyPeer: 'networkpolicypeer-v1-networking-k8s-io',
};

export function apiReference(): string {
  return [
    `# API reference`,
    `\`${memcachedKind.kind}\` (short name \`mc\`) in \`${GROUP}/${VERSION}\`, namespaced. ${DESCRIPTION}`,
    'The same descriptions are at hand in the cluster: `kubectl explain mc.spec --recursive`.',
    ...sections('spec', specSchema),
    ...sections('status', statusSchema),
    Object.entries(ANCHORS)
      .map(([name, anchor]) => `[${name}]: ${DOCUMENTED}/#${anchor}`)
      .join('\n'),
  ]
    .join('\n\n')
    .concat('\n');
}

/** A section for the object and one for each object inside. */
function sections(path: string, schema: Schema): string[] {
  const fields = Object.entries(schema.properties ?? {});
  const rows = fields.map(
    ([name, field]) =>
      `| \`${name}\` | ${typeOf(field, `${path}.${name}`)} | ${rulesOf(field)} | ${cell(field.description)} |`,
  );
  const table = ['| field | type | rules | meaning |', '|---|---|---|---|', ...rows].join('\n');
  const inside = fields.flatMap(([name, field]) => {
    if (field.properties) return sections(`${path}.${name}`, field);
    if (field.items?.properties) return sections(`${path}.${name}[]`, field.items);
    return [];
  });
  return [`## ${path}`, schema.description, table, ...inside];
}

function typeOf(schema: Schema, path: string): string {
  if (schema.embedded !== undefined) {
    return `[${schema.embedded}]`;
  }
  if (schema['x-kubernetes-int-or-string']) return 'integer or percentage';
  if (schema.additionalProperties) return `map of ${typeOf(schema.additionalProperties, path)}`;
  if (schema.items) return `list of ${typeOf(schema.items, `${path}[]`)}`;
  if (schema.properties) return `[object](#${path.toLowerCase().replaceAll(/[^a-z0-9_-]/g, '')})`;
  return schema.type ?? '';
}

function rulesOf(schema: Schema): string {
  const { pattern, format, enum: values, default: fallback } = schema;
  const isAmount = schema['x-kubernetes-int-or-string'];
  return [
    values?.map((value) => `\`${value}\``).join(', '),
    isAmount ? undefined : rangeOf(schema),
    pattern === undefined || isAmount ? undefined : `\`${cell(pattern)}\``,
    format === 'date-time' ? 'time' : undefined,
    fallback === undefined || schema.properties ? undefined : `default \`${JSON.stringify(fallback)}\``,
  ]
    .filter((rule) => rule !== undefined)
    .join('; ');
}

function rangeOf({ minimum, maximum }: Schema): string | undefined {
  if (minimum === undefined) return undefined;
  return maximum === undefined ? `at least ${minimum}` : `${minimum} to ${maximum}`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}
