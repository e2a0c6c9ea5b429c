/** The NetworkPolicy: who may connect to the servers. */
import type { DefaultedMemcached } from '../api/index.ts';
import type { NetworkPolicy, NetworkPolicyIngressRule } from '../kubernetes/network-policy.ts';
import type { Kind } from '../kubernetes/object.ts';
import type { NetworkPolicyPeer } from '../kubernetes/selector.ts';
import { childMetadata, selectorLabels } from './identity.ts';
import { METRICS_PORT, SERVER_PORT } from './ports.ts';
import type { Surroundings } from './surroundings.ts';

export const networkPolicyKind: Kind = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  plural: 'networkpolicies',
  namespaced: true,
};

export function networkPolicyFor(memcached: DefaultedMemcached, { operator }: Surroundings): NetworkPolicy | undefined {
  const { networkPolicy, monitoring } = memcached.spec;
  if (!networkPolicy.enabled) return undefined;
  const { allowedSources, allowedMetricsSources } = networkPolicy;
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: childMetadata(memcached),
    spec: {
      podSelector: { matchLabels: selectorLabels(memcached) },
      policyTypes: ['Ingress'],
      ingress: [
        rule(SERVER_PORT.port, allowedSources),
        // The operator reads statistics where clients read values.
        ...(operator && allowedSources.length > 0 ? [rule(SERVER_PORT.port, [podsOf(operator)])] : []),
        ...(monitoring.enabled ? [rule(METRICS_PORT.port, allowedMetricsSources)] : []),
      ],
    },
  };
}

/** No sources: everyone. */
function rule(port: number, from: readonly NetworkPolicyPeer[]): NetworkPolicyIngressRule {
  return { ...(from.length > 0 && { from }), ports: [{ port, protocol: 'TCP' }] };
}

function podsOf({ namespace, labels }: NonNullable<Surroundings['operator']>): NetworkPolicyPeer {
  return {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
    podSelector: { matchLabels: labels },
  };
}
