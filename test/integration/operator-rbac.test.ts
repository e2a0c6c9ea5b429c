/** The generated permissions: the operator is never refused anything, and uses all that it was given. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { memcachedKind } from '../../src/api/index.ts';
import type { Memcached } from '../../src/api/memcached.ts';
import { children } from '../../src/children/index.ts';
import { serviceKind } from '../../src/children/service.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import type { PolicyRule } from '../../src/kubernetes/policy-rule.ts';
import { webhookPermissions } from '../../src/webhooks/permissions.ts';
import { requestsSince, summary } from '../support/audit.ts';
import { ROOT, startCluster } from '../support/cluster.ts';
import {
  change,
  conditions,
  createReady,
  getMemcached,
  isReady,
  memcached,
  message,
  NAMESPACE,
  stage,
  until,
} from '../support/memcacheds.ts';
import { newAccount, scrape } from '../support/metrics.ts';
import { OPERATOR_USER } from '../support/operator.ts';
import { grantedBy, usedBy } from '../support/permissions.ts';
import { certificate, putSecret } from '../support/secrets.ts';
import { installServiceMonitors } from '../support/service-monitors.ts';

const CLUSTER = { name: 'test-rbac', form: 'fake', fakeNodes: 2, audit: true } as const;
const at = stage(CLUSTER);

beforeAll(() => installServiceMonitors(at.cluster, at.signal));

/** Has a child of every kind. */
const EVERYTHING: Memcached['spec'] = {
  resources: { requests: { cpu: '100m' } },
  monitoring: { enabled: true, exporterResources: { requests: { cpu: '50m' } } },
  autoscaling: { enabled: true, maxReplicas: 3 },
  highAvailability: { podDisruptionBudget: { enabled: true, maxUnavailable: 1 } },
  networkPolicy: { enabled: true },
};

interface Role extends KubernetesObject {
  readonly rules: readonly PolicyRule[];
}

async function role(): Promise<Role> {
  const text = await readFile(path.join(ROOT, 'config/rbac/role.yaml'), 'utf8');
  const objects = parseAllDocuments(text).map((document) => document.toJS() as KubernetesObject);
  return objects.find(({ kind }) => kind === 'ClusterRole') as Role;
}

/** No request shows that these are used, since only admission asks for them. They have a test of their own. */
function isAskedByAdmission(permission: string): boolean {
  return permission === 'update memcached.c5c3.io/memcacheds/finalizers' || permission.startsWith('delete ');
}

const isInConflict = (seen: Memcached) => conditions(seen)['Degraded'] === 'True/ResourceConflict';

/** What a Memcached names is read. */
async function readSecrets(signal: AbortSignal): Promise<void> {
  const { certificate: crt, key } = certificate();
  await putSecret(at, 'encrypted', { 'tls.crt': crt, 'tls.key': key });
  const tls = { enabled: true, certificateSecretRef: { name: 'encrypted' } };
  await createReady(at, memcached('encrypted', { security: { tls } }), signal);
}

test('nothing is refused, and everything granted is used', async ({ signal }) => {
  await createReady(at, memcached('allowed', { replicas: 2 }), signal);
  await change(at, 'allowed', { spec: { replicas: 1, service: { annotations: { a: 'b' } } } });
  await until(at, 'it is changed', () => getMemcached(at, 'allowed'), isReady, signal);
  for (const { kind } of children) {
    const name = `disowned-${kind.plural}`;
    await createReady(at, memcached(name, EVERYTHING), signal);
    const unlabelled = [{ op: 'remove', path: '/metadata/labels' }];
    await at.client.patch(kind, name, NAMESPACE, { type: 'json', body: unlabelled }); // so that it has to look
    const look = () => at.client.get<KubernetesObject>(kind, name, NAMESPACE);
    await until(at, 'labels are back', look, ({ metadata }) => metadata.labels !== undefined, signal);
    const loose = [{ op: 'replace', path: '/metadata/ownerReferences/0/blockOwnerDeletion', value: false }];
    await at.client.patch(kind, name, NAMESPACE, { type: 'json', body: loose });
    const isBlocking = ({ metadata }: KubernetesObject) => metadata.ownerReferences?.[0]?.blockOwnerDeletion === true;
    await until(at, 'the owner is back', look, isBlocking, signal, 20_000);
  }
  // Without a webhook it puts the number of servers itself where the autoscaler leaves it.
  await change(at, 'disowned-services', { spec: { autoscaling: { enabled: false } } });
  await until(at, 'it has replicas', () => getMemcached(at, 'disowned-services'), isReady, signal);
  await readSecrets(signal);
  await at.client.create(serviceKind, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'taken', namespace: NAMESPACE },
    spec: { ports: [{ port: 80 }] },
  } as KubernetesObject);
  await at.client.create(memcachedKind, memcached('taken'));
  await until(at, 'a conflict is told', () => getMemcached(at, 'taken'), isInConflict, signal);
  const token = await newAccount(at.cluster, 'prometheus');
  expect((await scrape(at.operator.metricsPort, { token })).status).toBe(403); // it has asked, which is the point

  const requests = await requestsSince(at.cluster, 0);
  console.log(summary(requests));
  expect(new Set(requests.map(({ user }) => user.username))).toEqual(new Set([OPERATOR_USER]));
  expect(summary(requests.filter(({ responseStatus }) => responseStatus?.code === 403))).toBe('nothing');

  // Without streaming lists it has to ask for plain ones. (An API server that has just started refuses what it will soon allow.)
  await startCluster({ ...CLUSTER, apiserverArgs: ['--feature-gates=WatchList=false'] });
  const own = grantedBy((await role()).rules).difference(grantedBy(webhookPermissions())); // those have a test of their own
  const seen = new Set([...own].filter((permission) => !isAskedByAdmission(permission)));
  const unused = async () => [...seen.difference(usedBy(await requestsSince(at.cluster, 0)))];
  await until(at, 'all is used', unused, ({ length }) => length === 0, signal);
});

/** Runs with less than the operator is granted. */
async function withoutPermission(rules: Role['rules'], run: () => Promise<void>): Promise<void> {
  const whole = await role();
  const replace = (object: object) => at.cluster.kubectl(['replace', '-f', '-'], { input: JSON.stringify(object) });
  await replace({ ...whole, rules });
  try {
    await run();
  } finally {
    await replace(whole);
  }
}

const isRefused = (seen: Memcached) => conditions(seen)['Degraded'] === 'True/ApplyFailed';

test('without the permission on finalizers, admission lets no child be made', async ({ signal }) => {
  const rules = (await role()).rules.filter(({ resources }) => !resources.includes('memcacheds/finalizers'));
  await withoutPermission(rules, async () => {
    let count = 0;
    // Permissions take a moment to be withdrawn.
    const look = async () => {
      const name = `unblocked-${count}`;
      count += 1;
      await at.client.create(memcachedKind, memcached(name, { replicas: 0 }));
      const isTold = ({ status }: Memcached) => status?.conditions !== undefined;
      return (await until(at, 'it is told', () => getMemcached(at, name), isTold, signal)).value;
    };
    const { value } = await until(at, 'it is refused', look, isRefused, signal);
    console.log(message(value, 'Degraded'));
    expect(message(value, 'Degraded')).toContain('cannot set blockOwnerDeletion');
  });
});

test('without the permission to delete, admission lets no owner be restored', async ({ signal }) => {
  await createReady(at, memcached('kept', { replicas: 0 }), signal);
  const rules = (await role()).rules.map((rule) => ({
    ...rule,
    verbs: rule.verbs.filter((verb) => verb !== 'delete'),
  }));
  await withoutPermission(rules, async () => {
    const look = async () => {
      const body = [{ op: 'replace', path: '/metadata/ownerReferences/0/blockOwnerDeletion', value: false }];
      await at.client.patch(serviceKind, 'kept', NAMESPACE, { type: 'json', body });
      await sleep(500);
      return getMemcached(at, 'kept');
    };
    const { value } = await until(at, 'it is refused', look, isRefused, signal);
    console.log(message(value, 'Degraded'));
    expect(message(value, 'Degraded')).toContain('cannot set an ownerRef on a resource you can');
  });
  await until(at, 'it is allowed again', () => getMemcached(at, 'kept'), isReady, signal);
});
