/** The Deployment: the servers themselves. */
import { annotation, type DefaultedMemcached } from '../api/index.ts';
import type { Container, Deployment, PodAntiAffinity, PodTemplateSpec, Probe } from '../kubernetes/deployment.ts';
import type { Kind } from '../kubernetes/object.ts';
import { memcachedArguments } from './arguments.ts';
import { childMetadata, selectorLabels } from './identity.ts';

export const deploymentKind: Kind = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
};

export function deploymentFor(memcached: DefaultedMemcached): Deployment {
  const { spec } = memcached;
  const labels = selectorLabels(memcached);
  const restart = memcached.metadata.annotations?.[annotation.restartTrigger];
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: childMetadata(memcached),
    spec: {
      ...(spec.replicas !== undefined && { replicas: spec.replicas }),
      strategy: strategy(memcached),
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, ...(restart !== undefined && { annotations: { [annotation.restartTrigger]: restart } }) },
        spec: podSpec(memcached),
      },
    },
  };
}

/** A new server before an old one goes; where no two may share a node, there may be no room for that. */
function strategy({ spec }: DefaultedMemcached): Deployment['spec']['strategy'] {
  const isHard = spec.highAvailability.antiAffinityPreset === 'hard';
  return { type: 'RollingUpdate', rollingUpdate: { maxSurge: isHard ? 0 : 1, maxUnavailable: isHard ? 1 : 0 } };
}

function podSpec(memcached: DefaultedMemcached): PodTemplateSpec {
  const { highAvailability, security } = memcached.spec;
  return {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: highAvailability.gracefulShutdown.terminationGracePeriodSeconds,
    securityContext: security.podSecurityContext,
    affinity: { podAntiAffinity: antiAffinity(memcached) },
    containers: [memcachedContainer(memcached)],
  };
}

function antiAffinity(memcached: DefaultedMemcached): PodAntiAffinity {
  const { 'app.kubernetes.io/managed-by': _, ...matchLabels } = selectorLabels(memcached);
  const term = { labelSelector: { matchLabels }, topologyKey: 'kubernetes.io/hostname' };
  return memcached.spec.highAvailability.antiAffinityPreset === 'hard'
    ? { requiredDuringSchedulingIgnoredDuringExecution: [term] }
    : { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: term }] };
}

function memcachedContainer({ spec }: DefaultedMemcached): Container {
  const { gracefulShutdown } = spec.highAvailability;
  return {
    name: 'memcached',
    image: spec.image,
    args: memcachedArguments(spec),
    ports: [{ name: 'memcached', containerPort: 11211, protocol: 'TCP' }],
    livenessProbe: probe(10, 10),
    readinessProbe: probe(5, 5),
    ...(spec.resources && { resources: spec.resources }),
    securityContext: spec.security.containerSecurityContext,
    // Kubernetes' own sleep: it needs no shell in the image.
    ...(gracefulShutdown.enabled && {
      lifecycle: { preStop: { sleep: { seconds: gracefulShutdown.preStopDelaySeconds } } },
    }),
    terminationMessagePolicy: 'FallbackToLogsOnError', // so that memcached's last words reach our status
  };
}

function probe(initialDelaySeconds: number, periodSeconds: number): Probe {
  return { tcpSocket: { port: 'memcached' }, initialDelaySeconds, periodSeconds };
}
