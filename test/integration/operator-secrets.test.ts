/** The Secrets that Memcacheds name: what becomes of the servers when they change, are missing, no good, or not to be read. */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Memcached, type MemcachedSpec, memcachedKind } from '../../src/api/index.ts';
import { deploymentKind } from '../../src/children/index.ts';
import { serviceKind } from '../../src/children/service.ts';
import { eventKind } from '../../src/controller/events.ts';
import { secretKind } from '../../src/controller/secrets/secrets.ts';
import { podKind } from '../../src/controller/world.ts';
import type { Deployment } from '../../src/kubernetes/deployment.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { FaultProxy } from '../support/fault-proxy/index.ts';
import { statusOf } from '../support/fault-proxy/statuses.ts';
import {
  change,
  conditions,
  createReady,
  eventsOf,
  find,
  getDeployment,
  getMemcached,
  getService,
  isReady,
  isUpToDate,
  memcached,
  message,
  NAMESPACE,
  stage,
  until,
} from '../support/memcacheds.ts';
import { letRead, newAccount, scrape } from '../support/metrics.ts';
import { Operator } from '../support/operator.ts';
import { certificate, putSecret, random, secretPieces } from '../support/secrets.ts';
import { Versions } from '../support/versions.ts';

const at = stage({ name: 'test-secrets', form: 'fake', fakeNodes: 3 });
let proxy: FaultProxy;
let viaProxy = '';
/** All that any operator of these tests has logged. */
const logs: unknown[][] = [];
/** Reads of single Secrets. */
const reads: string[] = [];

async function startOperator(): Promise<void> {
  at.operator = await Operator.start(viaProxy, at.signal, ['--log-level=debug']);
  logs.push(at.operator.logs);
}

beforeAll(async () => {
  await at.operator.stop();
  proxy = await FaultProxy.before(at.kubeconfig);
  proxy.relay.onCall = ({ method, path: called }) => {
    if (method === 'GET' && /\/secrets\/[^/?]+/.test(called)) reads.push(called);
  };
  viaProxy = path.join(at.cluster.instance.directory, 'operator-kubeconfig-by-proxy');
  await proxy.writeKubeconfig(at.kubeconfig, viaProxy);
  await startOperator();
});
afterEach(() => at.operator.assertAlive());
afterAll(() => proxy?.close());

const withTls = (name: string, rest: object = {}): MemcachedSpec => ({
  replicas: 2,
  security: { tls: { enabled: true, certificateSecretRef: { name }, ...rest } },
});
const withSasl = (name: string): MemcachedSpec => ({
  replicas: 2,
  security: { sasl: { enabled: true, credentialsSecretRef: { name } } },
});

function pair(options: Parameters<typeof certificate>[0] = {}): Record<string, string> {
  const { certificate: crt, key } = certificate(options);
  return { 'tls.crt': crt, 'tls.key': key };
}

const isDegraded = (reason: string) => (seen: Memcached) =>
  isUpToDate(seen) && conditions(seen)['Degraded'] === `True/${reason}`;

/** What would change if servers were touched. */
async function servers(name: string): Promise<unknown> {
  const labelSelector = `app.kubernetes.io/instance=${name}`;
  const { items } = await at.client.list<KubernetesObject>(podKind, { namespace: NAMESPACE, labelSelector });
  const { metadata } = await getDeployment(at, name);
  return { generation: metadata.generation, pods: new Set(items.map((pod) => pod.metadata.uid)) };
}

/** How often the pods of a Deployment were told to be others: its templates, each once. */
async function templates(name: string, signal: AbortSignal): Promise<Versions<Deployment, string>> {
  const template = (object: Deployment) => JSON.stringify(object.spec.template);
  return Versions.begin(at, deploymentKind, name, template, signal);
}

test('a Secret that is missing: servers wait for it, the rest does not', async ({ signal }) => {
  await at.client.create(memcachedKind, memcached('missing', withTls('missing-tls')));
  const look = () => getMemcached(at, 'missing');
  const { value, ms } = await until(at, 'it is told', look, isDegraded('SecretNotFound'), signal);
  console.log(`told after ${Math.round(ms)} ms: ${message(value, 'Degraded')}`);
  expect(message(value, 'Degraded')).toContain('missing-tls');
  expect(message(value, 'Degraded')).toContain('spec.security.tls.certificateSecretRef');
  expect(conditions(value)).toMatchObject({ Ready: 'False/SecretNotFound', Available: 'False/DeploymentUnavailable' });
  expect(value.status?.observedGeneration).toBeUndefined();
  expect(await find(at, serviceKind, 'missing')).toBeDefined();
  expect(await find(at, deploymentKind, 'missing')).toBeUndefined();

  await putSecret(at, 'missing-tls', pair());
  const ready = await until(at, 'it is taken up', look, isReady, signal);
  console.log(`ready ${Math.round(ready.ms)} ms after the Secret was created`);
  const events = await eventsOf(at, 'missing');
  expect(events.filter((event) => event.startsWith('SecretNotFound: '))).toHaveLength(1);
});

test('a Secret that was created a moment before is not missing', async ({ signal }) => {
  const names = Array.from({ length: 20 }, (_, index) => `moment-${index}`);
  await Promise.all(
    names.map(async (name) => {
      await putSecret(at, name, pair());
      await createReady(at, memcached(name, { ...withTls(name), replicas: 0 }), signal);
      expect(await eventsOf(at, name)).not.toContainEqual(expect.stringMatching(/^Secret/));
    }),
  );
});

test('a changed Secret rolls the pods once, anything else about it does not', async ({ signal }) => {
  await putSecret(at, 'rolled', pair());
  await createReady(at, memcached('rolled', withTls('rolled')), signal);
  const seen = await templates('rolled', signal);
  const touch = { metadata: { labels: { touched: 'yes' }, annotations: { note: 'hello' } } };
  await at.client.patch(secretKind, 'rolled', NAMESPACE, { type: 'merge', body: touch });
  await at.client.patch(secretKind, 'rolled', NAMESPACE, { type: 'merge', body: { data: { other: 'eA==' } } });
  await sleep(2000); // nothing tells that nothing happens
  expect(await seen.changes(signal)).toHaveLength(1);

  await putSecret(at, 'rolled', pair());
  const rolled = async () => (await seen.changes(signal)).length;
  const { ms } = await until(at, 'it rolls', rolled, (count) => count > 1, signal);
  console.log(`the template changed ${Math.round(ms)} ms after the Secret`);
  await until(at, 'it is done', () => getMemcached(at, 'rolled'), isReady, signal);
  await at.operator.stop();
  await startOperator();
  await sleep(2000);
  expect(await rolled()).toBe(2);
});

const authority = () => certificate({ isAuthority: true }).certificate;
const expired = { notBefore: new Date(Date.now() - 7_200_000), notAfter: new Date(Date.now() - 3_600_000) };
const user = () => `user${random()}`;
const mutual = { enableClientCert: true };

describe('a Secret that is no good', () => {
  test.for<[string, MemcachedSpec, () => Record<string, string>, () => Record<string, string>, RegExp]>([
    [
      'another-key',
      withTls('another-key'),
      pair,
      () => ({ ...pair(), 'tls.key': certificate().key }),
      /tls\.key is not the key of tls\.crt/,
    ],
    ['expired', withTls('expired'), pair, () => pair(expired), /tls\.crt expired on 20\d\d-/],
    [
      'garbage',
      withTls('garbage'),
      pair,
      () => ({ ...pair(), 'tls.crt': `-----BEGIN CERTIFICATE-----\n${random()}\n-----END CERTIFICATE-----` }),
      /tls\.crt has no readable certificate/,
    ],
    [
      'no-authority',
      withTls('no-authority', mutual),
      () => ({ ...pair(), 'ca.crt': authority() }),
      pair,
      /ca\.crt is missing/,
    ],
    [
      'false-authority',
      withTls('false-authority', mutual),
      () => ({ ...pair(), 'ca.crt': authority() }),
      () => ({ ...pair(), 'ca.crt': certificate().certificate }),
      /ca\.crt has no certificate of an authority/,
    ],
    [
      'no-host',
      withSasl('no-host'),
      () => ({ 'memcached-sasl-db': `${user()}@no-host:${random()}\n` }),
      () => ({ 'memcached-sasl-db': `${user()}@no-host:${random()}\n${user()}:${random()}\n` }),
      /memcached-sasl-db: line 2 must read "<user>@no-host:<password>"/,
    ],
    [
      'colon',
      withSasl('colon'),
      () => ({ 'memcached-sasl-db': `${user()}@colon:${random()}\n` }),
      () => ({ 'memcached-sasl-db': `${user()}@colon:${random()}:${random()}\n` }),
      /line 1 has a colon in its password/,
    ],
    [
      'blank-line',
      withSasl('blank-line'),
      () => ({ 'password-file': `${user()}:${random()}\n` }),
      () => ({ 'password-file': `${user()}:${random()}\n\n` }),
      /password-file: line 2 must read "<user>:<password>"/,
    ],
    [
      'no-passwords',
      withSasl('no-passwords'),
      () => ({ 'password-file': `${user()}:${random()}\n` }),
      () => ({ password: random() }),
      /neither memcached-sasl-db .* nor password-file/,
    ],
  ])('%s: told, servers untouched, the rest goes on', async ([name, spec, good, bad, words], { signal }) => {
    await putSecret(at, name, good());
    await createReady(at, memcached(name, spec), signal);
    const before = await servers(name);
    await putSecret(at, name, bad());
    const look = () => getMemcached(at, name);
    const { value, ms } = await until(at, 'it is told', look, isDegraded('SecretInvalid'), signal);
    console.log(`told after ${Math.round(ms)} ms: ${message(value, 'Degraded')}`);
    expect(message(value, 'Degraded')).toMatch(words);
    expect(conditions(value)).toMatchObject({ Available: 'True/DeploymentAvailable', Ready: 'False/SecretInvalid' });
    expect(value.status?.readyReplicas).toBe(2);

    await change(at, name, { spec: { image: 'memcached:1.6.18', service: { annotations: { a: 'b' } } } });
    const annotations = async () => (await getService(at, name)).metadata.annotations;
    await until(at, 'the Service is changed', annotations, (now) => now?.['a'] === 'b', signal);
    const { value: later } = await until(at, 'it is told again', look, isDegraded('SecretInvalid'), signal);
    expect(later.status?.observedGeneration).toBe(1);
    expect(await servers(name)).toEqual(before);

    await putSecret(at, name, good());
    await until(at, 'repaired', look, isReady, signal);
    expect((await getDeployment(at, name)).spec.template.spec.containers[0]?.image).toBe('memcached:1.6.18');
  });
});

test('a deleted Secret touches no server, and back again neither', async ({ signal }) => {
  const texts = pair();
  await putSecret(at, 'deleted', texts);
  await createReady(at, memcached('deleted', withTls('deleted')), signal);
  const before = await servers('deleted');
  await at.client.delete(secretKind, 'deleted', NAMESPACE);
  const look = () => getMemcached(at, 'deleted');
  const { value, ms } = await until(at, 'it is told', look, isDegraded('SecretNotFound'), signal);
  console.log(`told after ${Math.round(ms)} ms: ${message(value, 'Degraded')}`);
  await sleep(2000);
  expect(await servers('deleted')).toEqual(before);
  expect(conditions(await look())).toMatchObject({ Available: 'True/DeploymentAvailable' });
  await putSecret(at, 'deleted', texts);
  await until(at, 'all is well', look, isReady, signal);
  expect(await servers('deleted')).toEqual(before);
});

test.for([403, 500] as const)(
  'a %i on reading is not a missing Secret: nothing rolls until it is read',
  async (status, { signal }) => {
    const name = `unread-${status}`;
    await putSecret(at, name, pair());
    await createReady(at, memcached(name, withTls(name)), signal);
    const seen = await templates(name, signal);
    const body = JSON.stringify(statusOf(status));
    const headers = { 'content-type': 'application/json' };
    proxy.relay.intervene = ({ path: called }) =>
      called.includes(`/secrets/${name}`) ? { status, headers, body } : undefined;
    await putSecret(at, name, pair());
    const look = () => getMemcached(at, name);
    const { value } = await until(at, 'it is told', look, isDegraded('ApplyFailed'), signal);
    console.log(message(value, 'Degraded'));
    expect(message(value, 'Degraded')).toContain(`Secret ${name} cannot be read: a ${status} of the fault proxy`);
    await at.operator.stop(); // and forgotten what it knew
    await startOperator();
    await change(at, name, { spec: { service: { annotations: { a: 'b' } } } });
    const annotations = async () => (await getService(at, name)).metadata.annotations;
    await until(at, 'the Service is changed', annotations, (now) => now?.['a'] === 'b', signal);
    expect(await seen.changes(signal)).toHaveLength(1);
    expect(conditions(await look())).toMatchObject({ Available: 'True/DeploymentAvailable' });

    proxy.relay.intervene = () => undefined;
    const { ms } = await until(at, 'it recovers', look, isReady, signal);
    console.log(`well again ${Math.round(ms)} ms after it can be read`);
    expect(await seen.changes(signal)).toHaveLength(2);
  },
);

test('a certificate that expires is noticed when it does', async ({ signal }) => {
  await putSecret(at, 'expiring', pair());
  await createReady(at, memcached('expiring', withTls('expiring')), signal);
  const seen = await templates('expiring', signal);
  const expiry = Math.floor(Date.now() / 1000) * 1000 + 15_000; // certificates count in seconds
  await putSecret(at, 'expiring', pair({ notAfter: new Date(expiry) }));
  const look = () => getMemcached(at, 'expiring');
  await until(at, 'it is told', look, isDegraded('SecretInvalid'), signal);
  const now = Date.now();
  console.log(`told ${now - expiry} ms after it expired`);
  expect(now).toBeGreaterThan(expiry);
  const { length } = await seen.changes(signal);
  await sleep(2000); // nothing tells that nothing happens
  expect(await seen.changes(signal)).toHaveLength(length);
});

test('many Memcacheds share one Secret: each version is read once, and rolls all of them once', async ({ signal }) => {
  const names = Array.from({ length: 20 }, (_, index) => `shared-${index}`);
  await putSecret(at, 'shared', pair());
  await Promise.all(names.map((name) => createReady(at, memcached(name, withTls('shared')), signal)));
  const hashes = async () => {
    const templatesNow = await Promise.all(names.map(async (name) => (await getDeployment(at, name)).spec.template));
    return new Set(templatesNow.map(({ metadata }) => metadata?.annotations?.['memcached.c5c3.io/tls-secret-hash']));
  };
  const [before, ...others] = await hashes();
  expect([before, others]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), []]);
  const count = reads.length;
  await putSecret(at, 'shared', pair());
  const { ms } = await until(at, 'all roll', hashes, (now) => now.size === 1 && !now.has(before), signal);
  const counted = reads.slice(count).filter((called) => called.endsWith('/secrets/shared')).length;
  console.log(`20 templates changed in ${Math.round(ms)} ms, after ${counted} read(s)`);
  expect(counted).toBe(1);
});

test('Secrets that nobody names are not read', async ({ signal }) => {
  await Promise.all(
    Array.from({ length: 50 }, (_, index) => putSecret(at, `foreign-${index}`, { password: random() })),
  );
  await putSecret(at, 'last', pair());
  await createReady(at, memcached('last', withTls('last')), signal);
  expect(reads.filter((called) => called.includes('/secrets/foreign-'))).toEqual([]);
});

test('not a byte of a Secret is in any log, event, status or metric, or anywhere but in the Secret', async ({
  signal,
}) => {
  const kinds = [memcachedKind, deploymentKind, serviceKind, eventKind];
  const lists = await Promise.all(kinds.map((kind) => at.client.list<KubernetesObject>(kind)));
  const token = await newAccount(at.cluster, 'prometheus');
  await letRead(at.cluster, 'prometheus');
  const read = () => scrape(at.operator.metricsPort, { token });
  const { value: metrics } = await until(at, 'metrics are read', read, ({ status }) => status === 200, signal);
  const said = JSON.stringify([logs, lists, metrics.text]);
  const pieces = secretPieces();
  console.log(`${pieces.length} pieces of Secrets, looked for in ${said.length} characters`);
  expect(pieces.length).toBeGreaterThan(200);
  expect(pieces.filter((piece) => said.includes(piece))).toEqual([]);
});
