import { expect, test } from 'vitest';
import type { PodContainer } from '../kubernetes/pod.ts';
import { memoryProblem } from './memory-problem.ts';

const args = ['-m', '64', '-c', '1024', '-t', '4'];

test.each<[string, PodContainer, string]>([
  [
    'a limit that is too low says what would do',
    { name: 'memcached', args, resources: { limits: { memory: '96Mi' } } },
    'memcached was killed for using more memory than its limit of 96Mi: set spec.resources.limits.memory to 127Mi or more, or lower spec.memcached.maxMemoryMB',
  ],
  [
    'connections with TLS need more',
    { name: 'memcached', args: [...args, '-Z'], resources: { limits: { memory: 100_000_000 } } },
    'memcached was killed for using more memory than its limit of 100000000: set spec.resources.limits.memory to 151Mi or more, or lower spec.memcached.maxMemoryMB',
  ],
  [
    'what should have been enough and was not: more of it',
    { name: 'memcached', args, resources: { limits: { memory: '1Gi' } } },
    'memcached was killed for using more memory than its limit of 1Gi: set spec.resources.limits.memory to 1280Mi or more, or lower spec.memcached.maxMemoryMB',
  ],
  [
    'no limit: the node is full',
    { name: 'memcached', args },
    'memcached was killed because its node had no memory left: set spec.resources.requests.memory to 127Mi, so that it gets a node with room',
  ],
  [
    'the exporter has resources of its own',
    { name: 'exporter', args: ['--memcached.address=x'], resources: { limits: { memory: '16Mi' } } },
    'exporter was killed for using more memory than its limit of 16Mi: set spec.monitoring.exporterResources.limits.memory to 20Mi or more',
  ],
  [
    'a container that others have added',
    { name: 'mesh', resources: { limits: { memory: '16Mi' } } },
    'mesh was killed for using more memory than its limit of 16Mi: give it more',
  ],
  [
    'one of which nothing is known',
    { name: 'mesh' },
    'mesh was killed because its node had no memory left: give it more',
  ],
])('%s', (_, container, problem) => {
  expect(memoryProblem(container)).toBe(problem);
});
