import { expect, test } from 'vitest';
import { deploymentFor } from '../children/deployment.ts';
import { example } from '../children/example.ts';
import { deploymentKind, MANAGED_BY } from '../children/index.ts';
import { withoutEmpties } from '../children/without-empties.ts';
import type { Deployment } from '../kubernetes/deployment.ts';
import type { Kind, KubernetesObject } from '../kubernetes/object.ts';
import { ApiError, type Client } from '../runtime/client/index.ts';
import { applyStep } from './application.ts';
import { observedFingerprint } from './fingerprint.ts';

const memcached = example({ autoscaling: { enabled: true, maxReplicas: 9 } });
const desired = withoutEmpties(deploymentFor(memcached, {}));

const record = (manager: string, fields: readonly string[]) => ({
  manager,
  operation: 'Apply',
  fieldsV1: { 'f:spec': Object.fromEntries(fields.map((field) => [`f:${field}`, {}])) },
});

/** As the server has it, with fields that are ours. */
function deployment(...fields: string[]): KubernetesObject {
  const managedFields = [record(MANAGED_BY, fields), record('memcached-operator-replicas', ['replicas'])];
  return { ...desired, metadata: { ...desired.metadata, uid: 'uid-3', managedFields } } as KubernetesObject;
}

const without = deployment('strategy');
const still = deployment('strategy', 'replicas');
const fingerprint = observedFingerprint(without, MANAGED_BY);
const refused = new ApiError(422, { reason: 'Invalid' });
const conflict = new ApiError(409, { reason: 'Conflict' });

interface Situation {
  /** To each request in turn. */
  readonly answers: readonly (KubernetesObject | ApiError)[];
  readonly isNew?: boolean;
  /** Whether something else is wanted as well. */
  readonly isMore?: boolean;
}

/** Keeps what was asked. */
async function handOver({ answers, isNew = false, isMore = false }: Situation) {
  const asked: unknown[] = [];
  const bodies: unknown[] = [];
  const answer = <T>(request: unknown): Promise<T> => {
    const next = answers[asked.push(request) - 1];
    return next instanceof ApiError ? Promise.reject(next) : Promise.resolve(next as T);
  };
  const client = {
    patch: (_kind: Kind, _name: string, _namespace: string, { type, body }: { type: string; body: unknown }) => {
      bodies.push(body);
      return answer(type);
    },
    apply: (_kind: Kind, { spec }: Deployment, { fieldManager, force }: { fieldManager: string; force: boolean }) =>
      answer([fieldManager, spec.replicas, force]),
  } as unknown as Client;
  const step = {
    verb: 'update',
    kind: deploymentKind,
    desired,
    fingerprint: isMore ? 'another' : fingerprint,
    uid: 'uid-3',
    handOver: { replicas: 5, isNew },
  } as const;
  const outcome = await applyStep(step, memcached, client, new AbortController().signal);
  return { asked, bodies, outcome };
}

const MOVED = 'json';
const HELD = ['memcached-operator-replicas', 5, false];
const HELD_ANEW = ['memcached-operator-replicas', 5, true];
const NOT_MENTIONED = [MANAGED_BY, undefined, true];

test.each<[string, Situation, unknown[]]>([
  ['at once', { answers: [without] }, [MOVED]],
  ['and something else is to do', { answers: [without, without], isMore: true }, [MOVED, NOT_MENTIONED]],
  ['ours is not the first record', { answers: [refused, still, without] }, [MOVED, HELD, NOT_MENTIONED]],
  ["they are somebody else's by now", { answers: [refused, conflict, without] }, [MOVED, HELD, NOT_MENTIONED]],
  ['the server kept the records as they were', { answers: [still, still, without] }, [MOVED, HELD, NOT_MENTIONED]],
  ['with another number', { answers: [still, without], isNew: true }, [HELD_ANEW, NOT_MENTIONED]],
])('replicas are held by another before we let go: %s', async (_, situation, expected) => {
  const { asked, outcome } = await handOver(situation);
  expect(asked).toEqual(expected);
  expect(outcome.object).toBe(without);
  expect(outcome.isUnseen ?? false).toBe(expected.length === 1);
});

test.each([conflict, new ApiError(500, { reason: 'InternalError' })])(
  'where it fails, we hold on: %s',
  async (error) => {
    const { asked, outcome } = await handOver({ answers: [error] });
    expect(asked).toEqual([MOVED]);
    expect(outcome.fault?.reason).toBe('ApplyFailed');
  },
);

test('they are moved only from our own record, of the Deployment that was seen', async () => {
  const { bodies } = await handOver({ answers: [without] });
  expect(bodies).toEqual([
    [
      { op: 'test', path: '/metadata/uid', value: 'uid-3' },
      { op: 'test', path: '/metadata/managedFields/0/manager', value: MANAGED_BY },
      { op: 'test', path: '/metadata/managedFields/0/operation', value: 'Apply' },
      { op: 'remove', path: '/metadata/managedFields/0/fieldsV1/f:spec/f:replicas' },
      {
        op: 'add',
        path: '/metadata/managedFields/-',
        value: {
          apiVersion: 'apps/v1',
          fieldsType: 'FieldsV1',
          ...record('memcached-operator-replicas', ['replicas']),
        },
      },
    ],
  ]);
});
