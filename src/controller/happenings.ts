/** What of a reconcile is worth an event: what was done, once for each verb, and what went wrong, once until it changes. */
import type { Memcached, MemcachedStatus } from '../api/index.ts';
import type { Remark } from '../status/observation.ts';
import type { Outcome } from './application.ts';
import type { Step } from './difference.ts';
import type { Happening } from './events.ts';
import { followsPods } from './plan.ts';

const DONE = { create: 'Created', update: 'Updated', delete: 'Deleted' } as const;

/** Conditions of the Deployment come and go by themselves; Kubernetes has events of its own for them. */
const NOT_OURS = new Set(['ReplicasNotReady', 'RolloutStuck']);

export function deeds(outcomes: readonly Outcome[]): Happening[] {
  const done = outcomes
    .filter(({ step, fault, isMoot, isUnseen }) => !fault && !isMoot && !isUnseen && !followsPods(step.kind))
    .map(({ step }) => step);
  return Object.entries(DONE).flatMap(([verb, reason]) => {
    const kinds = done.filter((step: Step) => step.verb === verb).map((step) => step.kind.kind);
    if (kinds.length === 0) return [];
    return [{ type: 'Normal', reason, note: `${reason} ${kinds.join(', ')}`, action: 'Reconcile' } as const];
  });
}

export function troubles(memcached: Memcached, status: MemcachedStatus): Happening[] {
  const now = condition(status, 'Degraded');
  const before = condition(memcached.status, 'Degraded');
  if (now?.status !== 'True' || NOT_OURS.has(now.reason)) return [];
  if (before?.status === 'True' && before.reason === now.reason && before.message === now.message) return [];
  return [{ type: 'Warning', reason: now.reason, note: now.message, action: 'Reconcile' }];
}

/** A remark is news when the status did not have it before. */
export function news(memcached: Memcached, remarks: readonly Remark[]): Happening[] {
  const before = condition(memcached.status, 'Ready')?.message ?? '';
  return remarks
    .filter(({ message }) => !before.includes(message))
    .map(({ reason, message }) => ({ type: 'Warning', reason, note: message, action: 'Reconcile' }));
}

function condition(status: MemcachedStatus | undefined, type: string) {
  return status?.conditions?.find((one) => one.type === type);
}
