import { expect, test } from 'vitest';
import { annotation } from '../api/index.ts';
import type { Deployment } from '../kubernetes/deployment.ts';
import { deploymentFor } from './deployment.ts';
import { example } from './example.ts';
import type { Surroundings } from './surroundings.ts';
import { withoutEmpties } from './without-empties.ts';

/** As it is applied. */
function built(...given: [...Parameters<typeof example>]): Deployment {
  return withoutEmpties(deploymentFor(example(...given), {}));
}

const selector = {
  'app.kubernetes.io/name': 'memcached',
  'app.kubernetes.io/instance': 'my-cache',
  'app.kubernetes.io/managed-by': 'memcached-operator',
};
const labels = { ...selector, 'app.kubernetes.io/version': '1.6' };

test('a Memcached that says nothing gets the documented Deployment', () => {
  expect(built()).toEqual({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: 'my-cache',
      namespace: 'default',
      labels,
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
        metadata: { labels },
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
  const { spec } = built({ highAvailability: { antiAffinityPreset: 'hard' } });
  expect(spec.strategy.rollingUpdate).toEqual({ maxSurge: 0, maxUnavailable: 1 });
  const { podAntiAffinity } = spec.template.spec.affinity;
  expect(podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution).toHaveLength(1);
  expect(podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution).toBeUndefined();
});

test('a cache that scales itself leaves its replicas to the autoscaler', () => {
  const autoscaling = { enabled: true, maxReplicas: 5 };
  expect(built({ autoscaling, replicas: 3 }).spec).not.toHaveProperty('replicas');
});

test('graceful shutdown can be switched off and set', () => {
  const container = (gracefulShutdown: object) =>
    built({ highAvailability: { gracefulShutdown } }).spec.template.spec.containers[0];
  expect(container({ enabled: false })).not.toHaveProperty('lifecycle');
  expect(container({ enabled: true, preStopDelaySeconds: 20 })?.lifecycle).toEqual({
    preStop: { sleep: { seconds: 20 } },
  });
});

test('resources are passed on, and a restart trigger changes the template', () => {
  const resources = { limits: { memory: '128Mi' } };
  const metadata = { annotations: { [annotation.restartTrigger]: 'now', other: 'x' } };
  const { template } = built({ resources }, metadata).spec;
  expect(template.spec.containers[0]?.resources).toEqual(resources);
  expect(template.metadata.annotations).toEqual({ [annotation.restartTrigger]: 'now' });
});

test('what the user says about pods reaches them', () => {
  const asGiven = {
    nodeSelector: { 'node-role.kubernetes.io/cache': '' },
    tolerations: [{ key: 'dedicated', value: 'cache', effect: 'NoSchedule' }],
    imagePullSecrets: [{ name: 'registry' }],
    priorityClassName: 'high',
  } as const;
  const spec = { ...asGiven, podLabels: { team: 'platform' }, podAnnotations: { 'example.com/a': 'b' } };
  const { template } = built(spec).spec;
  expect(template.spec).toMatchObject(asGiven);
  expect(template.metadata).toEqual({ labels: { ...labels, team: 'platform' }, annotations: { 'example.com/a': 'b' } });
});

test('what says nothing reaches nobody', () => {
  const nothing = { podLabels: {}, podAnnotations: {}, nodeSelector: {}, tolerations: [], imagePullSecrets: [] };
  const security = { podSecurityContext: {}, containerSecurityContext: {} };
  const { template } = built({ ...nothing, resources: {}, priorityClassName: '', security }).spec;
  expect(template.metadata).toEqual({ labels });
  expect(Object.keys(template.spec).toSorted()).toEqual([
    'affinity',
    'automountServiceAccountToken',
    'containers',
    'terminationGracePeriodSeconds',
  ]);
  expect(template.spec.containers[0]).not.toHaveProperty('securityContext');
});

test('a security context replaces the default as a whole, for both containers', () => {
  const security = { podSecurityContext: { runAsUser: 1000 }, containerSecurityContext: { privileged: false } };
  const { template } = built({ security, monitoring: { enabled: true } }).spec;
  expect(template.spec.securityContext).toEqual({ runAsUser: 1000 });
  expect(template.spec.containers.map(({ securityContext }) => securityContext)).toEqual([
    { privileged: false },
    { privileged: false },
  ]);
});

test('a monitored server has an exporter beside it', () => {
  const exporterResources = { requests: { cpu: '50m' } };
  const { containers } = built({ monitoring: { enabled: true, exporterResources } }).spec.template.spec;
  expect(containers).toHaveLength(2);
  expect(containers[1]).toEqual({
    name: 'exporter',
    image: 'prom/memcached-exporter:v0.15.4',
    ports: [{ name: 'metrics', containerPort: 9150, protocol: 'TCP' }],
    resources: exporterResources,
    securityContext: containers[0]?.securityContext,
    terminationMessagePolicy: 'FallbackToLogsOnError',
  });
});

const protectedBy = (monitoring: object, form: 'sasl' | 'password-file'): Deployment => {
  const surroundings: Surroundings = { tls: { hash: 'a', hasCa: false }, authentication: { hash: 'b', form } };
  const security = {
    tls: { enabled: true, certificateSecretRef: { name: 'certificate' } },
    sasl: { enabled: true, credentialsSecretRef: { name: 'users' } },
  };
  return withoutEmpties(deploymentFor(example({ security, monitoring }), surroundings));
};

test('encryption and authentication come together', () => {
  const { metadata, spec } = protectedBy({ enabled: true }, 'sasl').spec.template;
  expect(metadata.annotations).toEqual({
    'memcached.c5c3.io/tls-secret-hash': 'a',
    'memcached.c5c3.io/authentication-secret-hash': 'b',
    'memcached.c5c3.io/sasl-configuration': 'mech_list: plain',
  });
  expect(spec.hostname).toBe('my-cache');
  expect(spec.volumes?.map(({ name }) => name)).toEqual(['tls', 'authentication']);
  const [server, exporter] = spec.containers;
  expect(server?.volumeMounts).toEqual([
    { name: 'tls', mountPath: '/etc/memcached/tls', readOnly: true },
    { name: 'authentication', mountPath: '/etc/memcached/authentication', readOnly: true },
  ]);
  expect(exporter?.args).toEqual(['--memcached.address=127.0.0.1:11212']);
  expect(exporter).not.toHaveProperty('volumeMounts');
});

test('where no listener can be exempt from authentication, the exporter is told of none', () => {
  const { hostname, containers } = protectedBy({ enabled: true }, 'password-file').spec.template.spec;
  expect(hostname).toBeUndefined();
  expect(containers.map(({ args }) => args?.includes('-l') ?? false)).toEqual([false, false]);
  expect(containers[1]).not.toHaveProperty('args');
});
