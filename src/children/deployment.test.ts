import { expect, test } from 'vitest';
import { annotation } from '../api/index.ts';
import { deploymentFor } from './deployment.ts';
import { example } from './example.ts';

const selector = {
  'app.kubernetes.io/name': 'memcached',
  'app.kubernetes.io/instance': 'my-cache',
  'app.kubernetes.io/managed-by': 'memcached-operator',
};

test('a Memcached that says nothing gets the documented Deployment', () => {
  expect(deploymentFor(example())).toEqual({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: 'my-cache',
      namespace: 'default',
      labels: selector,
      ownerReferences: [
        {
          apiVersion: 'memcached.c5c3.io/v1alpha1',
          kind: 'Memcached',
          name: 'my-cache',
          uid: 'uid-1',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      replicas: 1,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      selector: { matchLabels: selector },
      template: {
        metadata: { labels: selector },
        spec: {
          automountServiceAccountToken: false,
          terminationGracePeriodSeconds: 30,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 11211,
            runAsGroup: 11211,
            fsGroup: 11211,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          affinity: {
            podAntiAffinity: {
              preferredDuringSchedulingIgnoredDuringExecution: [
                {
                  weight: 100,
                  podAffinityTerm: {
                    labelSelector: {
                      matchLabels: {
                        'app.kubernetes.io/name': 'memcached',
                        'app.kubernetes.io/instance': 'my-cache',
                      },
                    },
                    topologyKey: 'kubernetes.io/hostname',
                  },
                },
              ],
            },
          },
          containers: [
            {
              name: 'memcached',
              image: 'memcached:1.6',
              args: ['-m', '64', '-c', '1024', '-t', '4', '-I', '1m'],
              ports: [{ name: 'memcached', containerPort: 11211, protocol: 'TCP' }],
              livenessProbe: { tcpSocket: { port: 'memcached' }, initialDelaySeconds: 10, periodSeconds: 10 },
              readinessProbe: { tcpSocket: { port: 'memcached' }, initialDelaySeconds: 5, periodSeconds: 5 },
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
              },
              lifecycle: { preStop: { sleep: { seconds: 5 } } },
              terminationMessagePolicy: 'FallbackToLogsOnError',
            },
          ],
        },
      },
    },
  });
});

test('where no two servers may share a node, one has to go before another comes', () => {
  const { spec } = deploymentFor(example({ highAvailability: { antiAffinityPreset: 'hard' } }));
  expect(spec.strategy.rollingUpdate).toEqual({ maxSurge: 0, maxUnavailable: 1 });
  const { podAntiAffinity } = spec.template.spec.affinity;
  expect(podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution).toHaveLength(1);
  expect(podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution).toBeUndefined();
});

test('a cache that scales itself leaves its replicas to the autoscaler', () => {
  const autoscaling = { enabled: true, maxReplicas: 5 };
  expect(deploymentFor(example({ autoscaling })).spec).not.toHaveProperty('replicas');
});

test('graceful shutdown can be switched off and set', () => {
  const container = (gracefulShutdown: object) =>
    deploymentFor(example({ highAvailability: { gracefulShutdown } })).spec.template.spec.containers[0];
  expect(container({ enabled: false })).not.toHaveProperty('lifecycle');
  expect(container({ enabled: true, preStopDelaySeconds: 20 })?.lifecycle).toEqual({
    preStop: { sleep: { seconds: 20 } },
  });
});

test('resources are passed on, and a restart trigger changes the template', () => {
  const resources = { limits: { memory: '128Mi' } };
  const metadata = { annotations: { [annotation.restartTrigger]: 'now', other: 'x' } };
  const { template } = deploymentFor(example({ resources }, metadata)).spec;
  expect(template.spec.containers[0]?.resources).toEqual(resources);
  expect(template.metadata.annotations).toEqual({ [annotation.restartTrigger]: 'now' });
});
