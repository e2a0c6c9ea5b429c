import { expect, test } from 'vitest';
import { intruders } from './intruders.ts';

const service = (...ports: object[]) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'x' },
  spec: { ports },
});
const deployment = (...containers: object[]) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'x', labels: { 'a/b': 'c' } },
  spec: { template: { spec: { containers } } },
});

const port = { name: 'memcached', port: 11211, protocol: 'TCP' };
const metrics = { name: 'metrics', port: 9150, protocol: 'TCP' };
const containerPort = { name: 'memcached', containerPort: 11211, protocol: 'TCP' };
const container = { name: 'memcached', ports: [containerPort] };

test.each([
  ['nothing is in the way', service(port), service(port), []],
  ['an item with a name of its own is a guest', service(port), service({ ...port, name: 'other', port: 1 }, port), []],
  ['another number', service(port), service({ ...port, port: 11212 }), ['/spec/ports/0']],
  ['another protocol', service(port), service(metrics, { ...port, protocol: 'UDP' }), ['/spec/ports/1']],
  [
    'the last one goes first',
    service(port, metrics),
    service({ ...port, port: 1 }, { ...metrics, port: 2 }),
    ['/spec/ports/1', '/spec/ports/0'],
  ],
  [
    'in a container of ours, wherever it is',
    deployment(container),
    deployment(
      { name: 'sidecar', ports: [{ name: 'memcached', containerPort: 1 }] },
      { ...container, ports: [{ ...containerPort, containerPort: 2 }] },
    ),
    ['/spec/template/spec/containers/1/ports/0'],
  ],
])('%s', (_, desired, existing, expected) => {
  expect(intruders(desired, existing)).toEqual(expected);
});
