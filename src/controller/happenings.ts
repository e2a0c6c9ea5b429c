/** What of a reconcile is worth an event: what was done, once for each verb, and what went wrong, once until it changes. */
import type { Memcached, MemcachedStatus } from '../api/index.ts';
import type { Outcome } from './application.ts';
import type { Step } from './difference.ts';
import type { Happening } from './events.ts';

const DONE = { create: 'Created', update: 'Updated', delete: 'Deleted' } as const;

/** Conditions of the Deployment come and go by themselves; Kubernetes has events of its own for them. */
const NOT_OURS = new Set(['ReplicasNotReady', 'RolloutStuck']);

export function deeds(outcomes: readonly Outcome[]): Happening[] {
  const done = outcomes.filter(({ fault }) => fault === undefined).map(({ step }) => step);
  return Object.entries(DONE).flatMap(([verb, reason]) => {
    const kinds = done.filter((step: Step) => step.verb === verb).map((step) => step.kind.kind);
    if (kinds.length === 0) return [];
    return [{ type: 'Normal', reason, note: `${reason} ${kinds.join(', ')}`, action: 'Reconcile' } as const];
  });
}

export function troubles(memcached: Memcached, status: MemcachedStatus): Happening[] {
  const now = degraded(status);
  const before = degraded(memcached.status);
  if (now?.status !== 'True' || NOT_OURS.has(now.reason)) return [];
  if (before?.status === 'True' && before.reason === now.reason && before.message === now.message) return [];
  return [{ type: 'Warning', reason: now.reason, note: now.message, action: 'Reconcile' }];
}

function degraded(status: MemcachedStatus | undefined) {
  return status?.conditions?.find(({ type }) => type === 'Degraded');
}
