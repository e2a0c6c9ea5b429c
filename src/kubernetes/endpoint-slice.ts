/** An EndpointSlice, as far as we write and read it. */
import type { KubernetesObject } from './object.ts';

export interface EndpointSlice extends KubernetesObject {
  readonly apiVersion: 'discovery.k8s.io/v1';
  readonly kind: 'EndpointSlice';
  readonly addressType: 'IPv4' | 'IPv6';
  readonly ports?: readonly { readonly name: string; readonly port: number; readonly protocol: 'TCP' }[];
  /** The server writes null for an empty list. */
  readonly endpoints?: readonly Endpoint[] | null;
}

export interface Endpoint {
  readonly addresses: readonly string[];
  readonly hostname?: string;
  readonly conditions?: { readonly ready: boolean; readonly serving: boolean; readonly terminating: boolean };
  readonly nodeName?: string;
  readonly targetRef?: { readonly kind: string; readonly name: string; readonly namespace: string };
}
