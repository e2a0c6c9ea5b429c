import { expect, test } from 'vitest';
import { type MemcachedSpec, memcachedKind } from '../memcached.ts';
import { validate, warningsAbout } from './index.ts';

function memcached(spec: MemcachedSpec) {
  const { apiVersion, kind } = memcachedKind;
  return { apiVersion, kind, metadata: { name: 'my-cache' }, spec };
}

test('an empty spec is nothing to worry about', () => {
  expect(warningsAbout(memcached({}))).toEqual([]);
});

test.for<[warning: string, spec: MemcachedSpec]>([
  [
    'spec.resources.limits.memory: with 96Mi a server may be killed for lack of memory when the cache is full and all connections are busy; 127Mi is safe',
    { resources: { limits: { memory: '96Mi' } } },
  ],
  [
    'spec.memcached.maxConnections: memcached needs most of the 30 connections itself, which leaves 2 for clients',
    { memcached: { maxConnections: 30 } },
  ],
  ['spec.memcached.threads: memcached advises against more than 64 threads', { memcached: { threads: 65 } }],
  ['spec.memcached.verbosity: every command will be logged, with its key', { memcached: { verbosity: 2 } }],
  [
    'spec.memcached.verbosity: every command will be logged, with its key',
    { memcached: { verbosity: 1, extraArgs: ['-v'] } },
  ],
  [
    'spec.highAvailability.podDisruptionBudget: no server may ever be evicted, so that no node that has one can be drained',
    { highAvailability: { podDisruptionBudget: { enabled: true, maxUnavailable: 0 } } },
  ],
  [
    'spec.highAvailability.podDisruptionBudget.minAvailable: while there are no more than 2 servers (autoscaling may go down to 2), no node that has one can be drained',
    {
      resources: { requests: { cpu: 1 } },
      autoscaling: { enabled: true, minReplicas: 2, maxReplicas: 4 },
      highAvailability: { podDisruptionBudget: { enabled: true, minAvailable: 2 } },
    },
  ],
  [
    'spec.highAvailability.gracefulShutdown.preStopDelaySeconds: has no effect while enabled is not true',
    { highAvailability: { gracefulShutdown: { preStopDelaySeconds: 20 } } },
  ],
  [
    'spec.autoscaling.metrics: utilization cannot be computed while spec.monitoring.exporterResources.requests has no cpu',
    {
      resources: { requests: { cpu: 1 } },
      autoscaling: { enabled: true, maxReplicas: 4 },
      monitoring: { enabled: true },
    },
  ],
  [
    'spec.monitoring.serviceMonitor.scrapeTimeout: Prometheus refuses a timeout (1m30s) that is longer than the interval (30s)',
    { monitoring: { enabled: true, serviceMonitor: { scrapeTimeout: '1m30s' } } },
  ],
  [
    'spec.security.tls.enableClientCert: has no effect while spec.security.tls.enabled is not true',
    { security: { tls: { enableClientCert: true } } },
  ],
  [
    'spec.security.networkPolicy.allowedSources: is empty, so that everyone may connect',
    { security: { networkPolicy: { enabled: true } } },
  ],
  [
    'spec.podLabels: the operator sets app.kubernetes.io/name itself, and what stands here is ignored',
    { podLabels: { 'app.kubernetes.io/name': 'mine', team: 'a' } },
  ],
])('%s', ([warning, spec]) => {
  expect(validate(memcached(spec))).toEqual([]);
  expect(warningsAbout(memcached(spec))).toEqual([warning]);
});
