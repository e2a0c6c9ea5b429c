import { expect, test } from 'vitest';
import type { EndpointSlice } from '../kubernetes/endpoint-slice.ts';
import { ENDPOINT_SLICE_SELECTOR, endpointSliceFor, slotsIn } from './endpoint-slice.ts';
import { example } from './example.ts';
import { serviceFor } from './service.ts';
import type { Server } from './surroundings.ts';

function server(slot: number, changes: Partial<Server> = {}): Server {
  return { slot, pod: `pod-${slot}`, address: `10.0.0.${slot}`, isReady: true, isDeleting: false, ...changes };
}

function slice(servers: readonly Server[], memcached = example()): EndpointSlice {
  const built = endpointSliceFor(memcached, { servers });
  if (!built) throw new Error('nothing was built');
  return built;
}

test('belongs to the Service, and to nobody else', () => {
  const { metadata, addressType, ports } = slice([server(0)]);
  expect(metadata.name).toBe('my-cache');
  expect(metadata.labels).toMatchObject({
    'kubernetes.io/service-name': 'my-cache',
    'endpointslice.kubernetes.io/managed-by': 'memcached-operator',
    'app.kubernetes.io/instance': 'my-cache',
  });
  expect(addressType).toBe('IPv4');
  expect(ports).toEqual([{ name: 'memcached', port: 11211, protocol: 'TCP' }]);
});

test('is selected, and those of Kubernetes for the same Service are not', () => {
  const isSelected = (labels: Readonly<Record<string, string>> = {}) =>
    ENDPOINT_SLICE_SELECTOR.split(',').every((one) => Object.entries(labels).some((label) => label.join('=') === one));
  const { labels } = serviceFor(example()).metadata; // Kubernetes copies them
  const writer = { 'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io' };
  expect([isSelected(slice([server(0)]).metadata.labels), isSelected({ ...labels, ...writer })]).toEqual([true, false]);
});

test('is not there where no pod has a name', () => {
  expect(endpointSliceFor(example(), {})).toBeUndefined();
  expect(endpointSliceFor(example(), { servers: [] })).toBeUndefined();
});

test('names each server', () => {
  const leaving = server(1, { isDeleting: true, node: 'node-1' });
  const { endpoints } = slice([server(0), leaving, server(4, { isReady: false })]);
  expect(endpoints).toEqual([
    {
      addresses: ['10.0.0.0'],
      hostname: 'my-cache-0',
      conditions: { ready: true, serving: true, terminating: false },
      targetRef: { kind: 'Pod', name: 'pod-0', namespace: 'default' },
    },
    {
      addresses: ['10.0.0.1'],
      hostname: 'my-cache-1',
      conditions: { ready: true, serving: true, terminating: true },
      nodeName: 'node-1',
      targetRef: { kind: 'Pod', name: 'pod-1', namespace: 'default' },
    },
    {
      addresses: ['10.0.0.4'],
      hostname: 'my-cache-4',
      conditions: { ready: false, serving: false, terminating: false },
      targetRef: { kind: 'Pod', name: 'pod-4', namespace: 'default' },
    },
  ]);
});

test('has the port of the metrics where there are some, and IPv6 addresses', () => {
  const monitored = example({ monitoring: { enabled: true } });
  const { ports, addressType } = slice([server(0, { address: 'fd00::1' })], monitored);
  expect([ports?.[1]?.port, addressType]).toEqual([9150, 'IPv6']);
});

test('tells again what it was told', () => {
  const servers = [server(0), server(2), server(63)];
  const slots = slotsIn(slice(servers));
  expect(slots).toHaveLength(64);
  expect([slots[0], slots[1], slots[2], slots[63]]).toEqual(['pod-0', undefined, 'pod-2', 'pod-63']);
  expect(slotsIn({})).toEqual([]);
  expect(slotsIn({ endpoints: null })).toEqual([]);
  expect(slotsIn({ endpoints: [{ addresses: ['10.0.0.1'], hostname: 'x' }, { addresses: ['10.0.0.2'] }] })).toEqual([]);
});
