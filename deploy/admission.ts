/** Whether Memcacheds can be created: a moment passes from when webhooks are ready until every node knows the way to them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../devcluster/problem.ts';
import type { Target } from './target.ts';

const PATIENCE_MS = 60_000;

const trial = JSON.stringify({
  apiVersion: 'memcached.c5c3.io/v1alpha1',
  kind: 'Memcached',
  metadata: { name: 'trial', namespace: 'default' },
  spec: {},
});

/** Asks for one without creating it, until the webhooks have been asked. What others say against it is not our concern. */
export async function untilAdmitting(target: Target, signal: AbortSignal): Promise<void> {
  const since = performance.now();
  for (;;) {
    const refusal = await target.kubectl(['create', '--dry-run=server', '-f', '-'], trial).then(() => '', String);
    if (!refusal.includes('failed calling webhook')) return; // kubectl tells no reason in any other form
    if (performance.now() - since > PATIENCE_MS)
      throw new Problem(
        `The API server cannot reach the operator's webhooks: ${refusal}`,
        "See that nothing keeps it from port 9443 of the operator's pods: a NetworkPolicy, or a firewall between control plane and nodes.",
      );
    await sleep(200, undefined, { signal });
  }
}
