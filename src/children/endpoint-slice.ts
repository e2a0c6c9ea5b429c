/** The names of the servers: an EndpointSlice of the headless Service that gives each of them a pod. */
import { isIPv6 } from 'node:net';
import { type DefaultedMemcached, serverHostname } from '../api/index.ts';
import type { Endpoint, EndpointSlice } from '../kubernetes/endpoint-slice.ts';
import type { Kind } from '../kubernetes/object.ts';
import { childMetadata, MANAGED_BY, MANAGED_SELECTOR } from './identity.ts';
import { METRICS_PORT, SERVER_PORT } from './ports.ts';
import type { Server, Surroundings } from './surroundings.ts';

export const endpointSliceKind: Kind = {
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  namespaced: true,
};

/** Who writes the slice: of one that names somebody else, Kubernetes keeps its hands off. */
const WRITER_LABEL = 'endpointslice.kubernetes.io/managed-by';

/** Kubernetes makes slices of the same Service as well, and copies its labels to them, ours among them. */
export const ENDPOINT_SLICE_SELECTOR = `${MANAGED_SELECTOR},${WRITER_LABEL}=${MANAGED_BY}`;

export function endpointSliceFor(
  memcached: DefaultedMemcached,
  { servers = [] }: Surroundings,
): EndpointSlice | undefined {
  if (servers.length === 0) return undefined;
  const metadata = childMetadata(memcached);
  const ports = memcached.spec.monitoring.enabled ? [SERVER_PORT, METRICS_PORT] : [SERVER_PORT];
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      ...metadata,
      labels: {
        ...metadata.labels,
        'kubernetes.io/service-name': metadata.name,
        [WRITER_LABEL]: MANAGED_BY,
      },
    },
    addressType: servers.some(({ address }) => isIPv6(address)) ? 'IPv6' : 'IPv4',
    ports: ports.map(({ name, port }) => ({ name, port, protocol: 'TCP' })),
    endpoints: servers.map((server) => endpointOf(memcached, server)),
  };
}

/** A server that is about to go keeps its name until another one takes it, hence is as ready as its probe says. */
function endpointOf(
  memcached: DefaultedMemcached,
  { slot, pod, address, node, isReady, isDeleting }: Server,
): Endpoint {
  return {
    addresses: [address],
    hostname: serverHostname(memcached, slot),
    conditions: { ready: isReady, serving: isReady, terminating: isDeleting },
    ...(node !== undefined && { nodeName: node }),
    targetRef: { kind: 'Pod', name: pod, namespace: memcached.metadata.namespace ?? '' },
  };
}

/** The pods that an EndpointSlice of ours names, by their slots. */
export function slotsIn({ endpoints }: Pick<EndpointSlice, 'endpoints'>): readonly (string | undefined)[] {
  const slots: (string | undefined)[] = [];
  for (const { hostname = '', targetRef } of endpoints ?? []) {
    const slot = Number(/-(\d{1,2})$/.exec(hostname)?.[1] ?? Number.NaN);
    if (Number.isInteger(slot) && targetRef) slots[slot] = targetRef.name;
  }
  return Array.from(slots); // without holes
}
