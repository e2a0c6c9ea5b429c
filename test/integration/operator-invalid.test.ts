/** What makes no sense is told, hides nothing else, and is carried out once it does. */
import { afterEach, describe, expect, test } from 'vitest';
import { type Memcached, memcachedKind } from '../../src/api/index.ts';
import { deploymentKind } from '../../src/children/index.ts';
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
