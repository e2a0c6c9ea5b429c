import { expect, test } from 'vitest';
import { example } from '../children/example.ts';
import { children, deploymentKind } from '../children/index.ts';
import type { Kind } from '../kubernetes/object.ts';
import { difference, type Seen } from './difference.ts';
import { wantedFingerprint } from './fingerprint.ts';
import type { ObservedChild } from './observed.ts';

const memcached = example();

function observed(kind: Kind, changes: Partial<ObservedChild> = {}): ObservedChild {
  const desired = children.find((child) => child.kind === kind)?.build(memcached, {});
  if (!desired) throw new Error(`no ${kind.kind} is wanted`);
  return {
    metadata: { name: 'my-cache', namespace: 'default', uid: `uid of ${kind.kind}`, resourceVersion: '1' },
    memcached: 'default/my-cache',
    ownerUid: 'uid-1',
    isDeleting: false,
    fingerprint: wantedFingerprint(desired),
    ...changes,
  };
}

function seen(child: Seen['child'], isKnownRewrite: Seen['isKnownRewrite'] = () => false): Seen {
  return { child, isKnownRewrite };
}

/** All as wanted, but the Deployment. */
function withDeployment(deployment: ObservedChild | undefined): Seen['child'] {
  return (kind) => (kind === deploymentKind ? deployment : observed(kind));
}

test('creates what is not there, in the order of the table', () => {
  const steps = difference(
    memcached,
    {},
    seen(() => undefined),
  );
  expect(steps.map(({ verb, kind }) => `${verb} ${kind.kind}`)).toEqual(['create Deployment', 'create Service']);
});

test('does nothing when all is as wanted', () => {
  expect(difference(memcached, {}, seen(observed))).toEqual([]);
});

test.each<[string, Partial<ObservedChild>, string[]]>([
  ['another fingerprint', { fingerprint: 'other' }, ['update']],
  ['another owner', { ownerUid: 'somebody' }, ['leave']],
  ['no owner', { ownerUid: undefined }, ['leave']],
  ['being deleted', { isDeleting: true, fingerprint: 'other' }, []],
])('a child with %s', (_, changes, verbs) => {
  const steps = difference(memcached, {}, seen(withDeployment(observed(deploymentKind, changes))));
  expect(steps.map(({ verb }) => verb)).toEqual(verbs);
});

test('what the server is known to store in other words is left alone', () => {
  const child = withDeployment(observed(deploymentKind, { fingerprint: 'rewritten' }));
  expect(
    difference(
      memcached,
      {},
      seen(child, (_uid, _wanted, found) => found === 'rewritten'),
    ),
  ).toEqual([]);
});
