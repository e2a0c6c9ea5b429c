/** Who may connect. */
import type { NetworkPolicyPeer } from '../../kubernetes/selector.ts';
import { boolean, embedded, list, object } from './json-schema.ts';

function peers(description: string) {
  return list(description, embedded<NetworkPolicyPeer>('NetworkPolicyPeer', 'Pods, namespaces or addresses.'));
}

export const networkPolicySchema = object(
  'A NetworkPolicy for the servers. spec.networkPolicy and spec.security.networkPolicy mean the same; only one of them may be there.',
  {
    enabled: boolean('Whether there is a NetworkPolicy.', { default: false }),
    allowedSources: peers('Who may connect to memcached (port 11211). If empty, everyone may.'),
    allowedMetricsSources: peers(
      'Who may read the metrics (port 9150). If empty, everyone may. An exporter connects to whatever address a reader names, so this is worth setting.',
    ),
  },
);
