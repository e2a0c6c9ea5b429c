import { expect, test } from 'vitest';
import type { DefaultedMemcached, MemcachedSpec } from '../api/index.ts';
import { example } from '../children/example.ts';
import { children, deploymentKind } from '../children/index.ts';
import type { Kind } from '../kubernetes/object.ts';
import { difference, type Seen, type Step } from './difference.ts';
import { wantedFingerprint } from './fingerprint.ts';
import type { ObservedChild, ObservedDeployment, ObservedPod } from './observed.ts';

const plain = example();
const rich = example({
  monitoring: { enabled: true },
  highAvailability: { podDisruptionBudget: { enabled: true, minAvailable: 1 } },
  networkPolicy: { enabled: true },
  autoscaling: { enabled: true, minReplicas: 2, maxReplicas: 5 },
});

/** With a server, so that there is a name to publish. */
const server = { slot: 0, pod: 'my-cache-x', address: '10.0.0.1', isReady: true, isDeleting: false };
const around = (of: DefaultedMemcached) => (of === rich ? { servers: [server] } : {});

/** A child as the Memcached wants it, if it does. */
function observed(of: DefaultedMemcached, kind: Kind, changes: Partial<ObservedChild> = {}): ObservedChild | undefined {
  const desired = children.find((child) => child.kind === kind)?.build(of, around(of));
  return (
    desired && {
      metadata: { name: 'my-cache', namespace: 'default', uid: `uid of ${kind.kind}`, resourceVersion: '1' },
      memcached: 'default/my-cache',
      ownerUid: 'uid-1',
      isDeleting: false,
      fingerprint: wantedFingerprint(desired),
      ...changes,
    }
  );
}

function seen(child: Seen['child'], changes: Partial<Seen> = {}): Seen {
  return { child, pods: [], isServed: () => true, isKnownRewrite: () => false, ...changes };
}

const nothing = seen(() => undefined);
const all = (of: DefaultedMemcached) => seen((kind) => observed(of, kind));

/** All as wanted, but the Deployment. */
function withDeployment(changes: Partial<ObservedChild>): Seen['child'] {
  return (kind) => observed(plain, kind, kind === deploymentKind ? changes : {});
}

const told = (steps: readonly Step[]) => steps.map(({ verb, kind }) => `${verb} ${kind.kind}`);
const every = children.map(({ kind }) => kind.kind);
const optional = children.filter(({ build }) => !build(plain, {})).map(({ kind }) => kind.kind);

test('creates what is not there, in the order of the table', () => {
  expect(told(difference(plain, {}, nothing))).toEqual(['create Deployment', 'create Service']);
  expect(told(difference(rich, around(rich), nothing))).toEqual(every.map((kind) => `create ${kind}`));
});

test('a step has the fingerprint of what it writes, and not of what is wanted in the end', () => {
  const fromOne = example({ autoscaling: { enabled: true, minReplicas: 1, maxReplicas: 5 } });
  const update = difference(plain, {}, seen(withDeployment({ fingerprint: 'other' })));
  const steps = [plain, rich, fromOne].map((of) => difference(of, around(of), nothing));
  for (const step of [...steps.flat(), ...update])
    expect(step).toMatchObject({ fingerprint: 'desired' in step ? wantedFingerprint(step.desired) : '' });
  const wanted = (of: DefaultedMemcached) => observed(of, deploymentKind)?.fingerprint;
  expect(steps[1]?.[0]).toMatchObject({ desired: { spec: { replicas: 2 } } });
  expect(steps[1]?.[0]).not.toMatchObject({ fingerprint: wanted(rich) }); // the replicas are handed over later
  expect(steps[2]?.[0]).toMatchObject({ fingerprint: wanted(fromOne) });
});

test('does nothing when all is as wanted', () => {
  expect(difference(plain, {}, all(plain))).toEqual([]);
  expect(difference(rich, around(rich), all(rich))).toEqual([]);
});

test('what is no longer wanted goes, before anything else is done', () => {
  const steps = told(difference(plain, {}, all(rich)));
  expect(steps.slice(0, optional.length)).toEqual(optional.map((kind) => `delete ${kind}`));
  expect(new Set(steps.slice(optional.length))).toEqual(new Set(['update Deployment', 'update Service']));
});

test("what is not wanted and somebody else's is not touched", () => {
  const changes = { ownerUid: 'somebody', memcached: 'default/other' };
  const theirs = seen((kind) => observed(rich, kind, optional.includes(kind.kind) ? changes : {}));
  expect(told(difference(plain, {}, theirs)).filter((step) => optional.some((kind) => step.endsWith(kind)))).toEqual(
    [],
  );
});

test('what a former Memcached of that name has left behind goes, before anything is made in its place', () => {
  const left = seen((kind) => observed(rich, kind, { ownerUid: 'uid-0' }));
  const gone = every.map((kind) => `delete ${kind}`);
  expect(told(difference(plain, {}, left))).toEqual([...gone, 'create Deployment', 'create Service']);
  expect(told(difference(rich, around(rich), left))).toEqual([...gone, ...every.map((kind) => `create ${kind}`)]);
});

test('a kind that the cluster does not know is not missed', () => {
  const custom = children.filter(({ needsCrd }) => needsCrd).map(({ kind }) => kind.kind);
  const steps = told(
    difference(
      rich,
      around(rich),
      seen(() => undefined, { isServed: () => false }),
    ),
  );
  expect(steps).toEqual(every.filter((kind) => !custom.includes(kind)).map((kind) => `create ${kind}`));
});

test('what is kept stays as it is, and is not made either', () => {
  const changed = seen(withDeployment({ fingerprint: 'other' }));
  expect(difference(plain, {}, changed, { kept: [deploymentKind] })).toEqual([]);
  expect(told(difference(plain, {}, nothing, { kept: [deploymentKind] }))).toEqual(['create Service']);
});

test.each<[string, Partial<ObservedChild>, string[]]>([
  ['another fingerprint', { fingerprint: 'other' }, ['update']],
  ['another owner', { ownerUid: 'somebody', memcached: 'default/other' }, ['leave']],
  ['a former owner of the same name', { ownerUid: 'uid-0' }, ['delete', 'create']],
  ['a former owner and others', { ownerUid: 'uid-0', hasCoOwners: true }, ['leave']],
  ['a former owner, being deleted', { ownerUid: 'uid-0', isDeleting: true }, ['leave']],
  ['no owner', { ownerUid: undefined }, ['leave']],
  ['its end near', { isDeleting: true }, ['wait']],
])('a child with %s', (_, changes, verbs) => {
  const steps = difference(plain, {}, seen(withDeployment(changes)));
  expect(steps.map(({ verb }) => verb)).toEqual(verbs);
});

test('what the server is known to store in other words is left alone', () => {
  const isKnownRewrite: Seen['isKnownRewrite'] = (_uid, _wanted, found) => found === 'rewritten';
  const rewritten = seen(withDeployment({ fingerprint: 'rewritten' }), { isKnownRewrite });
  expect(difference(plain, {}, rewritten)).toEqual([]);
});

test('whoever starts to scale by itself gets the present number of servers held', () => {
  const deployment = { wanted: 5, ownsReplicas: true } as ObservedDeployment;
  const scaling: MemcachedSpec = { autoscaling: { enabled: true, maxReplicas: 9 } };
  const steps = difference(example(scaling), {}, seen(withDeployment({ deployment })));
  expect(steps[0]).toMatchObject({ verb: 'update', handOver: { replicas: 5, isNew: false } });
  const given = { deployment: { ...deployment, ownsReplicas: false } };
  expect(difference(example(scaling), {}, seen(withDeployment(given)))[0]).not.toHaveProperty('handOver');
});

test('new servers in place of all others are a rollout, more or fewer of them are not', () => {
  const deployment = { wanted: 3, ownsReplicas: true } as ObservedDeployment;
  const step = (spec: MemcachedSpec, changes: Partial<ObservedDeployment> = {}) => {
    const child = { fingerprint: 'other', deployment: { ...deployment, ...changes } };
    return difference(example(spec), {}, seen(withDeployment(child)))[0];
  };
  const autoscaling = { enabled: true, maxReplicas: 9 };
  expect(step({ replicas: 3 })).toMatchObject({ verb: 'update', isRollout: true });
  expect(step({ autoscaling }, { ownsReplicas: false })).toMatchObject({ verb: 'update', isRollout: true });
  expect(step({ replicas: 4 })).not.toHaveProperty('isRollout');
  expect(step({ autoscaling })).not.toHaveProperty('isRollout'); // the replicas pass to another
  expect(step({ replicas: 3 }, { ownsReplicas: false })).not.toHaveProperty('isRollout'); // and back
});

test('whoever gets fewer servers loses those without a name that stays', () => {
  const deployment = { wanted: 3, ownsReplicas: true } as ObservedDeployment;
  const pod = (name: string, changes: Partial<ObservedPod> = {}) =>
    ({ metadata: { name }, isDeleting: false, ...changes }) as ObservedPod;
  const pods = [
    pod('my-cache-x'),
    pod('my-cache-y'),
    pod('marked', { deletionCost: '-1' }),
    pod('leaving', { isDeleting: true }),
  ];
  const few = seen(withDeployment({ deployment, fingerprint: 'other' }), { pods });
  const [step] = difference(example({ replicas: 1 }), { servers: [server] }, few);
  expect(step).toMatchObject({ verb: 'update', farewells: [{ name: 'my-cache-y', cost: '-1' }] });
  const [other] = difference(example({ replicas: 3 }), { servers: [server] }, few);
  expect(other).toMatchObject({ verb: 'update', farewells: [] });
  const spared = seen(withDeployment({ deployment, fingerprint: 'other' }), {
    pods: [pod('my-cache-x', { deletionCost: '-1' })],
  });
  const [last] = difference(example({ replicas: 1 }), { servers: [server] }, spared);
  expect(last).toMatchObject({ farewells: [{ name: 'my-cache-x', cost: undefined }] });
});
