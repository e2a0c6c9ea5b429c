/** What a console shows of a Memcached, as forms and fields. */
import type { Schema } from '../../api/schema/json-schema.ts';
import { specSchema } from '../../api/schema/spec.ts';
import { statusSchema } from '../../api/schema/status.ts';

export interface Descriptor {
  readonly path: string;
  readonly displayName: string;
  readonly description: string;
  readonly 'x-descriptors'?: readonly string[];
}

/** How a console shows a field; "text" and "number" are inputs, "fieldGroup" is a heading. */
type Look = 'podCount' | 'number' | 'text' | 'booleanSwitch' | 'resourceRequirements' | 'fieldGroup' | 'advanced';
type Field = readonly [path: string, displayName: string, ...look: string[]];

const ui = (look: Look) => `urn:alm:descriptor:com.tectonic.ui:${look}`;
const SECRET = 'urn:alm:descriptor:io.kubernetes:Secret';

const SPEC: readonly Field[] = [
  ['replicas', 'Servers', ui('podCount')],
  ['image', 'Image', ui('text')],
  ['resources', 'CPU and memory', ui('resourceRequirements')],
  ['memcached', 'memcached', ui('fieldGroup')],
  ['memcached.maxMemoryMB', 'Memory for items (MB)', ui('number')],
  ['memcached.maxConnections', 'Connections', ui('number')],
  ['memcached.threads', 'Threads', ui('number')],
  ['memcached.maxItemSize', 'Largest item', ui('text')],
  ['highAvailability', 'High availability', ui('fieldGroup')],
  ['highAvailability.antiAffinityPreset', 'Different nodes', ui('text')],
  ['highAvailability.podDisruptionBudget.enabled', 'Disruption budget', ui('booleanSwitch')],
  ['monitoring.enabled', 'Metrics', ui('booleanSwitch')],
  ['autoscaling.enabled', 'Autoscaling', ui('booleanSwitch')],
  ['networkPolicy.enabled', 'Network policy', ui('booleanSwitch')],
  ['security.tls.enabled', 'TLS', ui('booleanSwitch')],
  ['security.tls.certificateSecretRef.name', 'Secret with the certificate', SECRET],
  ['security.sasl.enabled', 'Passwords', ui('booleanSwitch')],
  ['security.sasl.credentialsSecretRef.name', 'Secret with the passwords', SECRET],
];

const STATUS: readonly Field[] = [
  ['readyReplicas', 'Servers that are ready', ui('podCount')],
  ['memcachedVersion', 'Version', ui('text')],
  ['hitRatio', 'Hit ratio', ui('text')],
  ['currentConnections', 'Connections', ui('text')],
  ['serverList', 'Names of the servers', ui('text')],
  ['conditions', 'Conditions', 'urn:alm:descriptor:io.kubernetes.conditions'],
];

export const specDescriptors: readonly Descriptor[] = SPEC.map((field) => descriptorFor(field, specSchema));
export const statusDescriptors: readonly Descriptor[] = STATUS.map((field) => descriptorFor(field, statusSchema));

/** The description is that of the schema, in its own words; inside of Kubernetes' own types, that of the field which has one. */
function descriptorFor([path, displayName, ...looks]: Field, root: Schema): Descriptor {
  let schema: Schema | undefined = root;
  for (const name of path.split('.')) if (schema?.embedded === undefined) schema = schema?.properties?.[name];
  if (!schema) throw new TypeError(`the schema has no field ${path}`);
  return { path, displayName, description: schema.description, 'x-descriptors': looks };
}
