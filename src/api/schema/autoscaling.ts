/** A number of servers that follows the load. */
import type { HorizontalPodAutoscalerBehavior, MetricSpec } from '../../kubernetes/autoscaling.ts';
import { defaultValues } from '../default-values.ts';
import { boolean, embedded, integer, list, object } from './json-schema.ts';

export const autoscalingSchema = object(
  'A HorizontalPodAutoscaler that decides the number of servers, in place of spec.replicas.',
  {
    enabled: boolean('Whether the number of servers follows the load.', { default: false }),
    minReplicas: integer(`The least number of servers. Default: ${defaultValues.autoscaling.minReplicas}.`, {
      minimum: 1,
      maximum: 64,
    }),
    maxReplicas: integer('The greatest number of servers. Needed when autoscaling is enabled.', {
      minimum: 1,
      maximum: 64,
    }),
    metrics: list(
      'What the number follows. Default: CPU utilization of 80 %, which needs spec.resources.requests.cpu.',
      embedded<MetricSpec>('MetricSpec', 'One metric and the value that it should have.'),
    ),
    behavior: embedded<HorizontalPodAutoscalerBehavior>(
      'HorizontalPodAutoscalerBehavior',
      'How fast the number may grow and shrink. Default: it shrinks to the greatest number that was wanted within the last 300 s.',
    ),
  },
);
