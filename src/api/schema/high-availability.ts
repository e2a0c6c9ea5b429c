/** How the servers are spread over the cluster, and what happens when one has to go. */
import type { TopologySpreadConstraint } from '../../kubernetes/core.ts';
import { defaultValues } from '../default-values.ts';
import { boolean, choice, embedded, integer, intOrPercent, list, object } from './json-schema.ts';

const { gracefulShutdown, shutdown, antiAffinityPreset } = defaultValues;

const podDisruptionBudgetSchema = object(
  'A PodDisruptionBudget: how many servers a drain of nodes has to leave alone. Exactly one of minAvailable and maxUnavailable is needed.',
  {
    enabled: boolean('Whether there is a PodDisruptionBudget.', { default: false }),
    minAvailable: intOrPercent(
      'How many servers must stay, as a number below replicas, or as a percentage such as "50%".',
    ),
    maxUnavailable: intOrPercent('How many servers may be away, as a number, or as a percentage such as "25%".'),
  },
);

const gracefulShutdownSchema = object(
  `What a server does between being told to stop and stopping. Without this section it goes on serving for ${shutdown.preStopDelaySeconds} s and has ${shutdown.terminationGracePeriodSeconds} s for everything.`,
  {
    enabled: boolean('Whether a server waits before it stops. If false, it stops at once.', {
      default: gracefulShutdown.enabled,
    }),
    preStopDelaySeconds: integer(
      `How long a server goes on serving, while clients learn that it will be gone. Default: ${gracefulShutdown.preStopDelaySeconds}.`,
      { minimum: 1 },
    ),
    terminationGracePeriodSeconds: integer(
      `After how long a server is killed, whatever it does. Must be more than preStopDelaySeconds. Default: ${gracefulShutdown.terminationGracePeriodSeconds}.`,
      { minimum: 1, format: 'int64' },
    ),
  },
);

export const highAvailabilitySchema = object('How servers are spread over the cluster, and how they leave it.', {
  antiAffinityPreset: choice(
    `Whether servers should ("soft") or must ("hard") be on different nodes. With "hard", a rollout stops a server before it starts the next one, because there may be no free node. Default: ${antiAffinityPreset}.`,
    ['soft', 'hard'],
  ),
  topologySpreadConstraints: list(
    'How servers are spread over zones or other parts of the cluster; passed on to the pods. One without a labelSelector counts the servers of this Memcached.',
    embedded<TopologySpreadConstraint>('TopologySpreadConstraint', 'How servers are spread over one kind of part.'),
    ['topologyKey', 'whenUnsatisfiable'],
  ),
  podDisruptionBudget: podDisruptionBudgetSchema,
  gracefulShutdown: gracefulShutdownSchema,
});
