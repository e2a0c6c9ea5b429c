/** A NetworkPolicy, as far as we write it. */
import type { KubernetesObject } from './object.ts';
import type { LabelSelector, NetworkPolicyPeer } from './selector.ts';

export interface NetworkPolicy extends KubernetesObject {
  readonly apiVersion: 'networking.k8s.io/v1';
  readonly kind: 'NetworkPolicy';
  readonly spec: {
    readonly podSelector: LabelSelector;
    readonly policyTypes: readonly ['Ingress'];
    readonly ingress: readonly NetworkPolicyIngressRule[];
  };
}

export interface NetworkPolicyIngressRule {
  /** Absent: everyone. */
  readonly from?: readonly NetworkPolicyPeer[];
  readonly ports: readonly { readonly port: number; readonly protocol: 'TCP' }[];
}
