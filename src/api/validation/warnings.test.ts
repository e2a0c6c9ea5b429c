import { expect, test } from 'vitest';
import { type MemcachedSpec, memcachedKind } from '../memcached.ts';
import { validate, warningsAbout } from './index.ts';

function memcached(spec: MemcachedSpec) {
  const { apiVersion, kind } = memcachedKind;
  return { apiVersion, kind, metadata: { name: 'my-cache' }, spec };
}

const limited = { resources: { limits: { memory: '1Gi' } } };
const budget = (podDisruptionBudget: object, spec: MemcachedSpec = {}): MemcachedSpec => ({
  ...limited,
  ...spec,
  highAvailability: { podDisruptionBudget: { enabled: true, ...podDisruptionBudget } },
});
const sasl = { enabled: true, credentialsSecretRef: { name: 'sasl' } };
const tls = { enabled: true, certificateSecretRef: { name: 'tls' } };

const tooOld = (version: string) =>
  `spec.image: memcached ${version} does not start with SASL and monitoring together; use 1.6.40 or later, or disable one of them`;
const secured = (image: string): MemcachedSpec => ({
  ...limited,
  image,
  monitoring: { enabled: true },
  security: { sasl, tls },
});

const cases: readonly [warning: string, spec: MemcachedSpec][] = [
  [
    'spec.resources.limits.memory: without a limit a server may take memory that its node needs for others; set it to 127Mi or more',
    {},
  ],
  [
    'spec.resources.limits.memory: with 96Mi a server may be killed for lack of memory when the cache is full and all connections are busy; set it to 127Mi or more',
    { resources: { limits: { memory: '96Mi' } } },
  ],
  [
    'spec.memcached.maxConnections: memcached needs most of the 30 connections itself, which leaves 2 for clients; set it to 44 or more',
    { ...limited, memcached: { maxConnections: 30 } },
  ],
  [
    'spec.memcached.threads: memcached advises against more than 64 threads; set it to the number of cores that a server may use',
    { ...limited, memcached: { threads: 65 } },
  ],
  [
    'spec.memcached.verbosity: every command will be logged, with its key; set it to 1 or 0 when you have seen enough',
    { ...limited, memcached: { verbosity: 2 } },
  ],
  [
    'spec.memcached.verbosity: every command will be logged, with its key; set it to 1 or 0 when you have seen enough',
    { ...limited, memcached: { verbosity: 1, extraArgs: ['-v'] } },
  ],
  [
    'spec.highAvailability.podDisruptionBudget.maxUnavailable: no server may ever be evicted, so that no node that has one can be drained; set it to 1 or more',
    budget({ maxUnavailable: 0 }, { replicas: 3 }),
  ],
  [
    'spec.highAvailability.podDisruptionBudget.minAvailable: 67% of 3 servers, rounded up, are all of them, so that no node that has one can be drained; set it to 2',
    budget({ minAvailable: '67%' }, { replicas: 3 }),
  ],
  [
    'spec.highAvailability.podDisruptionBudget: with one server it either protects nothing or keeps its node from being drained; set spec.replicas to 2 or more, or disable the budget',
    budget({ minAvailable: '50%' }),
  ],
  [
    'spec.highAvailability.podDisruptionBudget.minAvailable: while there are no more than 2 servers (autoscaling may go down to 2), no node that has one can be drained; set spec.autoscaling.minReplicas to 3 or more',
    budget(
      { minAvailable: 2 },
      {
        resources: { requests: { cpu: 1 }, limits: { memory: '1Gi' } },
        autoscaling: { enabled: true, minReplicas: 2, maxReplicas: 4 },
      },
    ),
  ],
  [
    'spec.highAvailability.gracefulShutdown.preStopDelaySeconds: has no effect while enabled is not true; set it to true, or remove the section for a delay of 5 s',
    { ...limited, highAvailability: { gracefulShutdown: { preStopDelaySeconds: 20 } } },
  ],
  [
    'spec.autoscaling.metrics: utilization cannot be computed while spec.monitoring.exporterResources.requests has no cpu; set it, or use a metric of type ContainerResource',
    {
      resources: { requests: { cpu: 1 }, limits: { memory: '1Gi' } },
      autoscaling: { enabled: true, maxReplicas: 4 },
      monitoring: { enabled: true },
    },
  ],
  [
    'spec.monitoring.serviceMonitor.scrapeTimeout: Prometheus refuses a timeout (1m30s) that is longer than the interval (30s); make it shorter',
    { ...limited, monitoring: { enabled: true, serviceMonitor: { scrapeTimeout: '1m30s' } } },
  ],
  [
    'spec.security.tls.enableClientCert: connections are encrypted, but everyone may open one; set it to true, with the authority of the clients as ca.crt in the Secret, or enable spec.security.sasl',
    { ...limited, security: { tls } },
  ],
  [
    'spec.security.sasl: passwords and data travel in clear; enable spec.security.tls',
    { ...limited, security: { sasl } },
  ],
  [
    'spec.security.networkPolicy.allowedSources: is empty, so that everyone may connect; list those who may',
    { ...limited, security: { networkPolicy: { enabled: true } } },
  ],
  [
    'spec.podLabels: the operator sets app.kubernetes.io/name itself, and what stands here is ignored; use another key',
    { ...limited, podLabels: { 'app.kubernetes.io/name': 'mine', team: 'a' } },
  ],
  [
    'spec.image: "registry.example:5000/memcached" has neither tag nor digest, so that servers may differ in version and change it unasked; name a version, such as registry.example:5000/memcached:1.6.45',
    { ...limited, image: 'registry.example:5000/memcached' },
  ],
  [tooOld('1.6.39'), secured('memcached:1.6.39')],
  [tooOld('1.5-alpine'), secured('registry.example:5000/memcached:1.5-alpine')],
  [tooOld('1.6.18'), secured(`memcached:1.6.18@sha256:${'0'.repeat(64)}`)],
];

test.for(cases)('%s', ([warning, spec]) => {
  expect(validate(memcached(spec))).toEqual([]);
  expect(warningsAbout(memcached(spec))).toEqual([warning]);
  expect(warning.length).toBeLessThanOrEqual(256); // the API server cuts what is longer
});

test.for<MemcachedSpec>([
  limited,
  { ...limited, image: `memcached@sha256:${'0'.repeat(64)}` },
  secured('memcached'.concat(':1.6')),
  secured('memcached:1.6.40'),
  secured('memcached:1.10.2'),
  secured('memcached:1'),
  secured('memcached:2.0.0'),
  secured('memcached:latest'),
  { ...secured('memcached:1.6.18'), monitoring: {} },
  budget({ minAvailable: '50%' }, { replicas: 3 }),
  budget({ maxUnavailable: 1 }, { replicas: 3 }),
  { ...limited, security: { tls: { ...tls, enableClientCert: true } } },
])('no warning about %j', (spec) => {
  expect(warningsAbout(memcached(spec))).toEqual([]);
});
