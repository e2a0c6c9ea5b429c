/** What a user says about a Memcached. */
import type { LocalObjectReference, ResourceRequirements, Toleration } from '../../kubernetes/core.ts';
import { defaultValues } from '../default-values.ts';
import { autoscalingSchema } from './autoscaling.ts';
import { cacheSchema } from './cache.ts';
import { highAvailabilitySchema } from './high-availability.ts';
import { embedded, integer, list, object, string } from './json-schema.ts';
import { annotations, labels } from './labels.ts';
import { monitoringSchema } from './monitoring.ts';
import { networkPolicySchema } from './network-policy.ts';
import { securitySchema } from './security.ts';

/**
 * The schema has the defaults that hold for everyone, so that they hold without webhooks too. It does not have those that
 * depend on something it cannot see: `replicas` must stay unset while the cache scales itself, the images are an option of
 * the operator, and for security contexts and graceful shutdown it matters whether the user wrote them.
 */
export const specSchema = object(
  'What the cache should be like.',
  {
    replicas: integer(
      `Number of servers. Default: ${defaultValues.replicas}. Not allowed together with autoscaling, which decides it.`,
      { minimum: 0, maximum: 64 },
    ),
    image: string(`Image of memcached. Default: ${defaultValues.image}, or what the operator was started with.`),
    resources: embedded<ResourceRequirements>(
      'ResourceRequirements',
      'CPU and memory that the memcached container asks for and may use.',
    ),
    memcached: cacheSchema,
    autoscaling: autoscalingSchema,
    highAvailability: highAvailabilitySchema,
    monitoring: monitoringSchema,
    security: securitySchema,
    networkPolicy: networkPolicySchema,
    service: object('The headless Service.', { annotations: annotations('Annotations of the Service.') }),
    podLabels: labels('More labels of the pods. Those that the operator sets cannot be changed.'),
    podAnnotations: annotations('More annotations of the pods. Those that the operator sets cannot be changed.'),
    nodeSelector: labels('Labels that a node must have to run a server.'),
    tolerations: list(
      'Taints of nodes that servers tolerate.',
      embedded<Toleration>('Toleration', 'A taint that servers tolerate.'),
    ),
    imagePullSecrets: list(
      'Secrets with the credentials of image registries.',
      embedded<LocalObjectReference & { readonly name: string }>(
        'LocalObjectReference',
        'A Secret in this namespace.',
        ['name'],
      ),
      ['name'],
    ),
    priorityClassName: string('Priority class of the pods.'),
  },
  { default: {} },
);
