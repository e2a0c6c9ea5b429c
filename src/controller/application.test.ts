import { expect, test } from 'vitest';
import { disruptionBudgetKind } from '../children/disruption-budget.ts';
import { example } from '../children/example.ts';
import { serviceMonitorKind } from '../children/service-monitor.ts';
import type { Kind, KubernetesObject, OwnerReference } from '../kubernetes/object.ts';
import { ApiError, type Client } from '../runtime/client/index.ts';
import { applyStep } from './application.ts';
import { observeChild } from './observed.ts';

const { signal } = new AbortController();

const memcached = example(); // uid-1

/** A Memcached, as an owner. */
function owner(uid: string, name = memcached.metadata.name): OwnerReference {
  return { apiVersion: memcached.apiVersion, kind: memcached.kind, name, uid, controller: true };
}

function budget(resourceVersion: number, ownerReferences: readonly OwnerReference[]): KubernetesObject {
  const metadata = { name: 'my-cache', namespace: 'default', uid: 'uid-2', resourceVersion: `${resourceVersion}` };
  return { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { ...metadata, ownerReferences } };
}

interface Server {
  /** How often the object gets a new version when somebody wants to delete it. */
  readonly changes?: number;
  /** Whose it was when it was seen, and whose it is by now. */
  readonly seen?: readonly OwnerReference[];
  readonly now?: readonly OwnerReference[];
  /** Who has the name of the Memcached now. */
  readonly named?: string | undefined;
}

async function remove({ changes = 0, seen = [owner('uid-1')], now = seen, ...server }: Server) {
  const named = 'named' in server ? server.named : 'uid-1';
  let version = 1;
  const asked: string[] = [];
  const client: Pick<Client, 'get' | 'apply' | 'patch' | 'delete'> = {
    get: <T extends KubernetesObject>({ kind }: Kind) => {
      if (kind === 'PodDisruptionBudget') return Promise.resolve(budget(version, now) as T);
      if (named === undefined) return Promise.reject(new ApiError(404, { reason: 'NotFound' }));
      return Promise.resolve({
        ...memcached,
        metadata: { ...memcached.metadata, uid: named },
      } as KubernetesObject as T);
    },
    apply: () => Promise.reject(new Error('nobody applies')),
    patch: () => Promise.reject(new Error('nobody patches')),
    delete: (_kind, name, _namespace, { uid, resourceVersion } = {}) => {
      asked.push(`${name} ${uid} ${resourceVersion}`);
      version += 1;
      return version - 1 > changes ? Promise.resolve() : Promise.reject(new ApiError(409, { reason: 'Conflict' }));
    },
  };
  const step = { verb: 'delete', kind: disruptionBudgetKind, observed: observeChild(budget(1, seen)) } as const;
  return { asked, outcome: await applyStep(step, memcached, client, signal) };
}

test('what others write into it meanwhile does not keep a child from being deleted', async () => {
  const { asked, outcome } = await remove({ changes: 3 });
  expect(asked).toEqual([1, 2, 3, 4].map((version) => `my-cache uid-2 ${version}`));
  expect(outcome.fault).toBeUndefined();
});

test('a child that was given to somebody else meanwhile stays', async () => {
  const { asked, outcome } = await remove({ changes: 3, now: [owner('somebody', 'other')] });
  expect(asked).toEqual(['my-cache uid-2 1']);
  expect(outcome).toMatchObject({ isMoot: true });
});

test('it is not tried forever', async () => {
  const { asked, outcome } = await remove({ changes: 100 });
  expect(asked).toHaveLength(5);
  expect(outcome.fault?.reason).toBe('ApplyFailed');
});

test('what a Memcached that had the name before has left behind goes', async () => {
  const { asked, outcome } = await remove({ changes: 1, seen: [owner('uid-0')] });
  expect(asked).toEqual(['my-cache uid-2 1', 'my-cache uid-2 2']);
  expect(outcome).not.toHaveProperty('isMoot');
});

const another = { apiVersion: 'v1', kind: 'ConfigMap', name: 'other', uid: 'uid-9' };

test.each<[string, Server, number]>([
  ['its owner has the name, and we are behind', { seen: [owner('uid-0')], named: 'uid-0' }, 0],
  ['somebody new has the name, and we are behind', { seen: [owner('uid-0')], named: 'uid-3' }, 0],
  ['nobody has the name any more', { seen: [owner('uid-0')], named: undefined }, 0],
  ['it is of another name', { seen: [owner('uid-0', 'other')] }, 0],
  ['others own it, too', { seen: [owner('uid-0'), another] }, 0],
  ['others own it by now, too', { changes: 1, seen: [owner('uid-0')], now: [owner('uid-0'), another] }, 1],
  ['it has been given away', { changes: 1, seen: [owner('uid-0')], now: [{ ...another, controller: true }] }, 1],
])('what was left behind stays where %s', async (_, server, tries) => {
  const { asked, outcome } = await remove(server);
  expect(asked).toHaveLength(tries);
  expect(outcome).toMatchObject({ isMoot: true });
});

const HELD =
  'PodDisruptionBudget my-cache was deleted, and is made anew when it is gone: example.com/a, example.com/b holds it';

test.each([
  [[], undefined],
  [['foregroundDeletion'], undefined],
  [['example.com/a', 'foregroundDeletion', 'example.com/b'], `${HELD}. See to who set that finalizer`],
])('a child that is being deleted is waited for; held by %j', async (finalizers, message) => {
  const { metadata, ...rest } = budget(1, [owner('uid-1')]);
  const observed = observeChild({ ...rest, metadata: { ...metadata, deletionTimestamp: 'now', finalizers } });
  const step = { verb: 'wait', kind: disruptionBudgetKind, observed } as const;
  const { fault } = await applyStep(step, memcached, {} as Client, signal);
  expect(fault).toEqual(message && { reason: 'ApplyFailed', message });
});

const TERMINATING = 'create not allowed while custom resource definition is terminating';

test.each([
  ['a kind that is gone', serviceMonitorKind, 404, 'the server could not find the requested resource', true],
  ['a kind that is leaving', serviceMonitorKind, 403, `servicemonitors "my-cache" is forbidden: ${TERMINATING}`, true],
  ['a kind that is leaving an older server', serviceMonitorKind, 405, TERMINATING, true],
  ['a kind that it may not make', serviceMonitorKind, 403, 'servicemonitors "my-cache" is forbidden', false],
  ['a kind that every cluster has', disruptionBudgetKind, 404, 'namespaces "default" not found', false],
])('%s gets no child, and that is a fault only where it stays', async (_, kind, status, message, isMoot) => {
  const client = { apply: () => Promise.reject(new ApiError(status, { message })) } as Partial<Client> as Client;
  const step = { verb: 'create', kind, desired: budget(1, []), fingerprint: '' } as const;
  const outcome = await applyStep(step, memcached, client, signal);
  expect([outcome.isMoot ?? false, outcome.fault?.reason]).toEqual([isMoot, isMoot ? undefined : 'ApplyFailed']);
});
