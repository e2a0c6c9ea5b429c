import { expect, test } from 'vitest';
import { disruptionBudgetKind } from '../children/disruption-budget.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import { ApiError, type Client } from '../runtime/client/index.ts';
import { applyStep } from './application.ts';
import { observeChild } from './observed.ts';

const { signal } = new AbortController();

function budget(resourceVersion: number, owner = 'uid-1'): KubernetesObject {
  const ownerReferences = [
    { apiVersion: 'memcached.c5c3.io/v1alpha1', kind: 'Memcached', name: 'x', uid: owner, controller: true },
  ];
  const metadata = { name: 'x', namespace: 'default', uid: 'uid-2', resourceVersion: `${resourceVersion}` };
  return { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { ...metadata, ownerReferences } };
}

/** A server where the object has a new version each time that somebody wants to delete it, and maybe another owner. */
async function remove(changes: number, owner: string) {
  let version = 1;
  const asked: string[] = [];
  const client: Pick<Client, 'get' | 'apply' | 'patch' | 'delete'> = {
    get: <T extends KubernetesObject>() => Promise.resolve(budget(version, owner) as T),
    apply: () => Promise.reject(new Error('nobody applies')),
    patch: () => Promise.reject(new Error('nobody patches')),
    delete: (_kind, name, _namespace, { uid, resourceVersion } = {}) => {
      asked.push(`${name} ${uid} ${resourceVersion}`);
      version += 1;
      return version - 1 > changes ? Promise.resolve() : Promise.reject(new ApiError(409, { reason: 'Conflict' }));
    },
  };
  const step = { verb: 'delete', kind: disruptionBudgetKind, observed: observeChild(budget(1)) } as const;
  return { asked, outcome: await applyStep(step, 'uid-1', client, signal) };
}

test('what others write into it meanwhile does not keep a child from being deleted', async () => {
  const { asked, outcome } = await remove(3, 'uid-1');
  expect(asked).toEqual(['x uid-2 1', 'x uid-2 2', 'x uid-2 3', 'x uid-2 4']);
  expect(outcome.fault).toBeUndefined();
});

test('a child that was given to somebody else meanwhile stays', async () => {
  const { asked, outcome } = await remove(3, 'somebody');
  expect(asked).toEqual(['x uid-2 1']);
  expect(outcome).toMatchObject({ isMoot: true });
});

test('it is not tried forever', async () => {
  const { asked, outcome } = await remove(100, 'uid-1');
  expect(asked).toHaveLength(5);
  expect(outcome.fault?.reason).toBe('ApplyFailed');
});
