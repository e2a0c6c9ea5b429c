/** What cannot be carried out is told, hides nothing else, and is carried out once it can be. */
import { afterEach, describe, expect, test } from 'vitest';
import { type Memcached, memcachedKind } from '../../src/api/index.ts';
import { deploymentKind } from '../../src/children/index.ts';
import { serviceKind } from '../../src/children/service.ts';
import {
  change,
  conditions,
  createReady,
  eventsOf,
  find,
  getDeployment,
  getMemcached,
  isReady,
  isUpToDate,
  memcached,
  message,
  stage,
  until,
} from '../support/memcacheds.ts';

const at = stage({ name: 'test-invalid', form: 'fake', fakeNodes: 2 });

afterEach(() => at.operator.assertAlive());

const isDegraded = (reason: string) => (seen: Memcached) =>
  isUpToDate(seen) && conditions(seen)['Degraded'] === `True/${reason}`;

describe('a spec that the schema accepts and memcached would not', () => {
  test.for([
    ['item-size', { memcached: { maxItemSize: '700k' } }, 'spec.memcached.maxItemSize', '512k'],
    ['daemon', { memcached: { extraArgs: ['-d'] } }, 'spec.memcached.extraArgs', '-d'],
    ['connections', { memcached: { maxConnections: 1, threads: 8 } }, 'spec.memcached.maxConnections', '49'],
  ] as const)(
    '%s is told with the field and the reason, and the others go on',
    async ([name, spec, field, reason], { signal }) => {
      await at.client.create(memcachedKind, memcached(name, spec as Memcached['spec']));
      const look = () => getMemcached(at, name);
      const { value } = await until(at, 'it is told', look, isDegraded('InvalidSpec'), signal);
      console.log(message(value, 'Degraded'));
      expect(message(value, 'Degraded')).toContain(field);
      expect(message(value, 'Degraded')).toContain(reason);
      expect(conditions(value)).toMatchObject({ Ready: 'False/InvalidSpec' });
      expect(value.status?.observedGeneration).toBeUndefined();
      expect(await find(at, deploymentKind, name)).toBeUndefined();
      const { ms } = await createReady(at, memcached(`beside-${name}`), signal);
      console.log(`another one is ready after ${Math.round(ms)} ms`);

      await change(at, name, { spec: { memcached: null } });
      await until(at, 'it recovers', look, isReady, signal);
      const warnings = (await eventsOf(at, name)).filter((event) => event.startsWith('InvalidSpec: '));
      expect(warnings).toEqual([expect.stringContaining(field)]);
    },
  );

  test('leaves the servers that run alone', async ({ signal }) => {
    await createReady(at, memcached('turned', { replicas: 2 }), signal);
    const before = await getDeployment(at, 'turned');
    await change(at, 'turned', { spec: { replicas: 3, memcached: { extraArgs: ['-d'] } } });
    const look = () => getMemcached(at, 'turned');
    const { value } = await until(at, 'it is told', look, isDegraded('InvalidSpec'), signal);
    expect(conditions(value)).toMatchObject({ Available: 'True/DeploymentAvailable' });
    expect(value.status).toMatchObject({ observedGeneration: 1, readyReplicas: 2 });
    expect((await getDeployment(at, 'turned')).metadata.generation).toBe(before.metadata.generation);
    await change(at, 'turned', { spec: { memcached: null } });
    const { value: after } = await until(at, 'it recovers', look, isReady, signal);
    expect(after.status).toMatchObject({ observedGeneration: 3, readyReplicas: 3 });
  });
});

/** Refuses to admit what bears this name. */
function policy(name: string, groups: string, resources: string, instance: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    items: [
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingAdmissionPolicy',
        metadata: { name },
        spec: {
          matchConstraints: {
            resourceRules: [
              { apiGroups: [groups], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: [resources] },
            ],
          },
          validations: [
            { expression: `!object.metadata.name.startsWith('${instance}')`, message: `${resources} are not welcome` },
          ],
        },
      },
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingAdmissionPolicyBinding',
        metadata: { name },
        spec: { policyName: name, validationActions: ['Deny'] },
      },
    ],
  });
}

/** A policy takes a moment to be enforced. */
async function enforce(text: string, kind: string, name: string, signal: AbortSignal): Promise<void> {
  await at.cluster.kubectl(['apply', '-f', '-'], { input: text });
  const args = kind === 'service' ? ['clusterip', `${name}-probe`, '--tcp=1:1'] : [`${name}-probe`, '--image=x'];
  const probe = () =>
    at.cluster.kubectl(['create', kind, ...args, '--dry-run=server']).then(
      () => 'admitted',
      (error: unknown) => String(error),
    );
  await until(at, 'the policy is enforced', probe, (said) => said.includes('not welcome'), signal);
}

describe('a child that cannot be applied', () => {
  test.for([
    ['service', '', 'services', serviceKind, deploymentKind],
    ['deployment', 'apps', 'deployments', deploymentKind, serviceKind],
  ] as const)(
    '%s: hides neither the other one nor the status',
    async ([title, group, resources, kind, other], { signal }) => {
      const name = `no-${title}`;
      await enforce(policy(name, group, resources, name), title, name, signal);
      await at.client.create(memcachedKind, memcached(name));
      const look = () => getMemcached(at, name);
      const { value } = await until(at, 'it is told', look, isDegraded('ApplyFailed'), signal);
      console.log(message(value, 'Degraded'));
      expect(message(value, 'Degraded')).toContain(`${resources} are not welcome`);
      expect(message(value, 'Degraded')).toContain(kind.kind);
      expect(conditions(value)).toMatchObject({ Ready: 'False/ApplyFailed' });
      expect(value.status?.observedGeneration).toBeUndefined();
      await until(at, 'the other child is there', () => find(at, other, name), Boolean, signal);
      expect(await find(at, kind, name)).toBeUndefined();

      await at.cluster.kubectl(['delete', 'validatingadmissionpolicy,validatingadmissionpolicybinding', name]);
      const { ms } = await until(at, 'it recovers', look, isReady, signal);
      console.log(`ready ${Math.round(ms)} ms after the policy went`);
      const events = await eventsOf(at, name);
      expect(events.filter((event) => event.startsWith('ApplyFailed: '))).toHaveLength(1);
      expect(events.filter((event) => event.startsWith('Created: '))).toHaveLength(2);
    },
  );

  test('pods that nobody may create: the status says why', async ({ signal }) => {
    const quota = ['create', 'quota', 'none-left', '--hard=pods=0'];
    await at.cluster.kubectl(quota);
    try {
      await at.client.create(memcachedKind, memcached('no-pods'));
      const look = () => getMemcached(at, 'no-pods');
      const isTold = (seen: Memcached) => message(seen, 'Degraded').includes('none-left');
      const { value } = await until(at, 'it is told', look, isTold, signal);
      console.log(message(value, 'Degraded'));
      expect(conditions(value)).toMatchObject({ Degraded: 'True/ReplicasNotReady', Ready: 'False/ReplicasNotReady' });
    } finally {
      await at.cluster.kubectl(['delete', 'quota', 'none-left']);
    }
  });
});
