/** The Deployment: the servers themselves. */
import { annotation, type DefaultedMemcached } from '../api/index.ts';
import type { Deployment } from '../kubernetes/deployment.ts';
import type { Kind } from '../kubernetes/object.ts';
import type { Container, PodSpec, Probe } from '../kubernetes/pod-template.ts';
import { memcachedArguments } from './arguments.ts';
import { authentication } from './authentication.ts';
import { encryption } from './encryption.ts';
import { exporterContainer } from './exporter.ts';
import { childLabels, childMetadata, selectorLabels, usersAnnotations } from './identity.ts';
import { LOOPBACK, SERVER_PORT } from './ports.ts';
import { exporterListener, type Protection } from './protection.ts';
import { antiAffinity, spreadConstraints } from './spreading.ts';
import type { Surroundings } from './surroundings.ts';

export const deploymentKind: Kind = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
};

export function deploymentFor(memcached: DefaultedMemcached, surroundings: Surroundings): Deployment {
  const { metadata, spec } = memcached;
  const protections = [encryption, authentication].flatMap((protect) => protect(memcached, surroundings) ?? []);
  const restart = metadata.annotations?.[annotation.restartTrigger];
  const annotations = [
    usersAnnotations(spec.podAnnotations),
    restart === undefined ? {} : { [annotation.restartTrigger]: restart },
    ...protections.map((protection) => protection.annotations),
  ].flatMap((some) => Object.entries(some));
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: childMetadata(memcached),
    spec: {
      replicas: spec.autoscaling.enabled ? undefined : spec.replicas, // the autoscaler decides
      strategy: strategy(memcached),
      selector: { matchLabels: selectorLabels(memcached) },
      template: {
        metadata: { labels: childLabels(memcached, spec.podLabels), annotations: Object.fromEntries(annotations) },
        spec: podSpec(memcached, protections),
      },
    },
  };
}

/** A new server before an old one goes; where no two may share a node, there may be no room for that. */
function strategy({ spec }: DefaultedMemcached): Deployment['spec']['strategy'] {
  const isHard = spec.highAvailability.antiAffinityPreset === 'hard';
  return { type: 'RollingUpdate', rollingUpdate: { maxSurge: isHard ? 0 : 1, maxUnavailable: isHard ? 1 : 0 } };
}

function podSpec(memcached: DefaultedMemcached, protections: readonly Protection[]): PodSpec {
  const { spec } = memcached;
  const server = memcachedContainer(memcached, protections);
  const address = exporterListener(spec, protections) === undefined ? undefined : LOOPBACK;
  return {
    hostname: protections.find(({ hostname }) => hostname !== undefined)?.hostname,
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: spec.highAvailability.gracefulShutdown.terminationGracePeriodSeconds,
    securityContext: spec.security.podSecurityContext,
    affinity: { podAntiAffinity: antiAffinity(memcached) },
    topologySpreadConstraints: spreadConstraints(memcached),
    nodeSelector: spec.nodeSelector,
    tolerations: spec.tolerations,
    priorityClassName: spec.priorityClassName || undefined,
    imagePullSecrets: spec.imagePullSecrets,
    containers: spec.monitoring.enabled ? [server, exporterContainer(spec, address)] : [server],
    volumes: protections.map(({ volume }) => volume),
  };
}

function memcachedContainer({ spec }: DefaultedMemcached, protections: readonly Protection[]): Container {
  const { gracefulShutdown } = spec.highAvailability;
  return {
    name: 'memcached',
    image: spec.image,
    args: memcachedArguments(spec, protections),
    env: protections.flatMap(({ env }) => env ?? []),
    ports: [{ name: SERVER_PORT.name, containerPort: SERVER_PORT.port, protocol: 'TCP' }],
    livenessProbe: probe(10, 10),
    readinessProbe: probe(5, 5),
    resources: spec.resources,
    securityContext: spec.security.containerSecurityContext,
    volumeMounts: protections.map(({ volume, mountPath }) => ({ name: volume.name, mountPath, readOnly: true })),
    // Kubernetes' own sleep: it needs no shell in the image.
    lifecycle: gracefulShutdown.enabled
      ? { preStop: { sleep: { seconds: gracefulShutdown.preStopDelaySeconds } } }
      : undefined,
    terminationMessagePolicy: 'FallbackToLogsOnError', // so that memcached's last words reach our status
  };
}

function probe(initialDelaySeconds: number, periodSeconds: number): Probe {
  return { tcpSocket: { port: SERVER_PORT.name }, initialDelaySeconds, periodSeconds };
}
