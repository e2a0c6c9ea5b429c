/** The certificate of the webhooks on a real API server: replicas agree on one, it is renewed under load, and repaired. */
import { X509Certificate } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { homedir } from 'node:os';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { addresses } from '../../devcluster/instance.ts';
import { GROUP, memcachedKind } from '../../src/api/index.ts';
import type { Kind, KubernetesObject } from '../../src/kubernetes/object.ts';
import type { WebhookConfiguration } from '../../src/kubernetes/webhook-configuration.ts';
import type { CertifiedKey } from '../../src/runtime/certificates/certificate.ts';
import { type Client, createClient, findAccess, isNotFound } from '../../src/runtime/client/index.ts';
import { HttpsServer } from '../../src/runtime/https-server.ts';
import type { LogFields } from '../../src/runtime/log.ts';
import { CertificateKeeper } from '../../src/webhooks/certificates/keeper.ts';
import { CERTIFICATE_SECRET, secretKind } from '../../src/webhooks/certificates/store.ts';
import {
  configurationFor,
  configurationName,
  mutation,
  registrations,
  validation,
} from '../../src/webhooks/configurations.ts';
import { certificatePermissions, webhookPermissions } from '../../src/webhooks/permissions.ts';
import { requestsSince, summary } from '../support/audit.ts';
import { startCluster, stopCluster, type TestCluster } from '../support/cluster.ts';
import { administrator, memcached, NAMESPACE, until as untilAlive } from '../support/memcacheds.ts';
import { installOperator } from '../support/operator.ts';
import { grantedBy, usedBy } from '../support/permissions.ts';

const CLUSTER = { name: 'test-certificates', form: 'none', audit: true } as const;
const SYSTEM = 'memcached-operator-system';
const DAY_MS = 86_400_000;

interface Secret extends KubernetesObject {
  readonly data: Readonly<Record<string, string>>;
}

let cluster: TestCluster;
let admin: Client;
/** With the permissions of the operator, and no others. */
let operator: Client;

beforeAll(async () => {
  await stopCluster(CLUSTER);
  cluster = await startCluster(CLUSTER);
  admin = await administrator(cluster);
  const kubeconfig = await installOperator(cluster, new AbortController().signal);
  const access = await findAccess({ kubeconfig, env: {}, home: homedir() });
  operator = createClient({ access, userAgent: 'memcached-operator/test' });
});

afterAll(async () => {
  await operator?.close();
  await admin?.close();
  await stopCluster(CLUSTER);
});

/** What all replicas of a test said. */
let logged: string[];

function newLog() {
  const plain = (_: string, value: unknown) => (value instanceof Error ? value.message : value);
  const say = (level: string) => (message: string, fields?: LogFields) =>
    void logged.push(`${level}: ${message} ${JSON.stringify(fields, plain)}`);
  return { debug: say('debug'), info: say('info'), error: say('error') };
}

/** A replica of the operator, as far as its certificate goes. It admits everything. */
class Replica {
  readonly served: CertifiedKey[] = [];
  /** What it was asked about. */
  readonly asked = new Set<string>();
  readonly ready: Promise<void>;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #server: HttpsServer | undefined;

  constructor(lifetimeMs: number) {
    const { host } = addresses(cluster.instance);
    const keeper = new CertificateKeeper({
      client: operator,
      namespace: SYSTEM,
      identity: { dnsNames: [`memcached-operator-webhook-service.${SYSTEM}.svc`], ipAddresses: [host] },
      lifetimeMs,
      log: newLog(),
      onCertificate: (pair) => {
        this.served.push(pair);
        void this.#server?.renew();
      },
    });
    this.ready = keeper.ready;
    this.#running = keeper.run(this.#stop.signal);
  }

  get serving(): CertifiedKey {
    return this.served.at(-1) as CertifiedKey;
  }

  /** Tells where the API server finds it. */
  async listen(): Promise<string> {
    await this.ready;
    const { host } = addresses(cluster.instance);
    const certificate = async () => this.serving;
    const handle = async (request: IncomingMessage, response: ServerResponse) =>
      void this.asked.add(await admit(request, response));
    const limits = { connections: 512, idleMs: 120_000 }; // as webhooks have them
    this.#server = await HttpsServer.start({ host, port: 0, certificate, handle, log: newLog(), limits });
    return `https://${host}:${this.#server.port}`;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.#server?.close();
  }
}

/** Tells the name of what was admitted. */
async function admit(request: IncomingMessage, response: ServerResponse): Promise<string> {
  const review = (await json(request)) as { apiVersion: string; kind: string; request: { uid: string; name: string } };
  const { apiVersion, kind } = review;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ apiVersion, kind, response: { uid: review.request.uid, allowed: true } }));
  return review.request.name;
}

let replicas: Replica[];
let count = 0;

/** Two replicas; the API server asks one of them about defaults and the other about validity. */
async function startReplicas(lifetimeMs: number): Promise<void> {
  replicas = [new Replica(lifetimeMs), new Replica(lifetimeMs)];
  for (const [index, registration] of registrations.entries()) {
    const url = (await replicas[index]?.listen()) + registration.path;
    await admin.create(registration.kind, configurationFor(registration, 'memcached-operator', { url }));
  }
}

beforeEach(() => {
  logged = [];
});

afterEach(async () => {
  for (const replica of replicas) await replica.stop();
  const gone = (error: unknown) => {
    if (!isNotFound(error)) throw error;
  };
  for (const registration of registrations)
    await admin.delete(registration.kind, configurationName('memcached-operator', registration), undefined).catch(gone);
  await admin.delete(secretKind, CERTIFICATE_SECRET, SYSTEM).catch(gone);
  const keys = replicas.flatMap(({ served }) => served.map(({ key }) => key.split('\n')[1] ?? ''));
  const bad = logged.find((line) => line.startsWith('error') || keys.some((key) => line.includes(key)));
  if (bad !== undefined) throw new Error(`a replica complained, or told a secret: ${bad}`);
});

const readSecret = () => admin.get<Secret>(secretKind, CERTIFICATE_SECRET, SYSTEM);
const configurations = () =>
  Promise.all(
    registrations.map((registration) =>
      admin.get<WebhookConfiguration>(registration.kind, configurationName('memcached-operator', registration)),
    ),
  );

/** Looks until it is so. */
function until<T>(what: string, look: () => Promise<T>, isRight: (seen: T) => boolean, signal: AbortSignal) {
  const operatorOf = { assertAlive: () => undefined, tail: () => logged.slice(-20).join('\n') };
  return untilAlive({ operator: operatorOf as never }, what, look, isRight, signal);
}

/** A Memcached goes through both webhooks. "" when it was admitted, or why it was not. */
async function tryCreate(): Promise<string> {
  const name = `certified-${count++}`;
  return admin.create(memcachedKind, memcached(name, { replicas: 0 })).then(
    () => (replicas[0]?.asked.has(name) && replicas[1]?.asked.has(name) ? '' : `${name}: not both were asked`),
    (error: unknown) => `${name}: ${String(error)}`,
  );
}

const untilAdmitted = (signal: AbortSignal) => until('it is admitted', tryCreate, (said) => said === '', signal);

test('replicas agree on one certificate, and the API server trusts it', async ({ signal }) => {
  const since = performance.now();
  await startReplicas(DAY_MS);
  console.log(`two replicas were ready after ${Math.round(performance.now() - since)} ms`);
  const { ms } = await untilAdmitted(signal);
  console.log(`the first Memcached was admitted ${Math.round(ms)} ms after that`);
  const [one, other] = replicas.map(({ serving }) => serving);
  expect(one).toEqual(other);
  const certificate = new X509Certificate(one?.certificate ?? '');
  expect(certificate.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' });
  expect((await readSecret()).data).toEqual({
    'tls.crt': expect.any(String) as string,
    'tls.key': expect.any(String) as string,
    'ca.crt': expect.any(String) as string,
  });
  for (let time = 0; time < 20; time += 1) expect(await tryCreate()).toBe('');

  const third = new Replica(DAY_MS);
  replicas.push(third);
  await third.ready;
  expect(third.served).toEqual([one]);
  const isTied = ({ metadata }: Secret) => metadata.ownerReferences?.length === registrations.length;
  await until('it belongs to the configurations', readSecret, isTied, signal);
  const before = await readSecret();
  await sleep(2000, undefined, { signal });
  expect((await readSecret()).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
});

const WORKERS = 25;

test('a renewal every few seconds goes unnoticed by 50 creations per second', async ({ signal }) => {
  await startReplicas(18_000);
  await untilAdmitted(signal);
  const said: string[] = [];
  const since = performance.now();
  const isEnough = () => said.length >= 1000 && replicas.every(({ served }) => served.length >= 5);
  // At the pace of 50 per second; a machine that is too slow for it does not pile up what it cannot do.
  const createMany = async (_: unknown, worker: number) => {
    for (let time = worker * 20; !isEnough(); time += WORKERS * 20) {
      await sleep(Math.max(0, since + time - performance.now()), undefined, { signal });
      said.push(await tryCreate());
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, createMany));
  const seconds = Math.round((performance.now() - since) / 1000);
  const [one, other] = replicas.map(({ served }) => served.map(({ certificate }) => certificate));
  console.log(`${said.length} creations in ${seconds} s, with ${one?.length} certificates one after another`);
  expect(said.filter(Boolean)).toEqual([]);
  expect(other?.slice(0, 5)).toEqual(one?.slice(0, 5));
  expect(new Set(one).size).toBe(one?.length);
});

const base64 = (text: string) => Buffer.from(text).toString('base64');
const patchSecret = (body: object) => admin.patch(secretKind, CERTIFICATE_SECRET, SYSTEM, { type: 'merge', body });

test('with its successor in the Secret, too, what is damaged is put back', async ({ signal }) => {
  await startReplicas(30_000);
  const isRenewing = ({ data }: Secret) => data['next.key'] !== undefined;
  const { value: before } = await until('it has a successor', readSecret, isRenewing, signal);
  await patchSecret({ data: { 'tls.key': base64('garbage') } });
  const isBack = ({ data }: Secret) => data['tls.key'] === before.data['tls.key'];
  const { value, ms } = await until('it is put back', readSecret, isBack, signal);
  console.log(`put back after ${Math.round(ms)} ms`);
  expect(value.data).toEqual(before.data);
});

test.for<[string, () => Promise<unknown>]>([
  ['deleted', () => admin.delete(secretKind, CERTIFICATE_SECRET, SYSTEM)],
  ['emptied', () => patchSecret({ data: { 'tls.crt': '', 'tls.key': '', 'ca.crt': '' } })],
  ['filled with garbage', () => patchSecret({ data: { 'tls.crt': base64('garbage'), 'tls.key': base64('garbage') } })],
  ['deprived of its authority', () => patchSecret({ data: { 'ca.crt': null } })],
  ['made immutable, with garbage', () => patchSecret({ immutable: true, data: { 'tls.key': base64('garbage') } })],
])('a Secret that was %s is put back, and nobody notices', async ([, damage], { signal }) => {
  await startReplicas(DAY_MS);
  await untilAdmitted(signal);
  const before = (await readSecret()).data;
  const said: string[] = [];
  await damage();
  const read = async () => {
    said.push(await tryCreate());
    return readSecret().then(
      ({ data }) => data,
      () => undefined,
    );
  };
  const isBack = (data: Secret['data'] | undefined) => JSON.stringify(data) === JSON.stringify(before);
  const { ms } = await until('it is put back', read, isBack, signal);
  console.log(`put back after ${Math.round(ms)} ms`);
  for (let time = 0; time < 10; time += 1) said.push(await tryCreate());
  expect(said.filter(Boolean)).toEqual([]);
  for (const { served } of replicas) expect(served).toHaveLength(1);
});

/** Changes what both configurations trust. */
async function retrust(change: { op: string; value?: string }): Promise<void> {
  const body = [{ path: '/webhooks/0/clientConfig/caBundle', ...change }];
  for (const registration of [mutation, validation])
    await admin.patch(registration.kind, configurationName('memcached-operator', registration), undefined, {
      type: 'json',
      body,
    });
}

test('a configuration that was edited by hand is put right', async ({ signal }) => {
  await startReplicas(DAY_MS);
  await untilAdmitted(signal);
  const bundles = async () => (await configurations()).map(({ webhooks }) => webhooks?.[0]?.clientConfig.caBundle);
  const right = await bundles();
  const isRight = (seen: unknown) => JSON.stringify(seen) === JSON.stringify(right);
  const theirs = base64(await readCa());
  for (const change of [{ op: 'remove' }, { op: 'replace', value: theirs }]) {
    await retrust(change);
    const { ms } = await until('it is put right', bundles, isRight, signal);
    console.log(`${change.op}: put right after ${Math.round(ms)} ms`);
    await untilAdmitted(signal);
  }
  const [first] = await configurations();
  const bare = anew(first as WebhookConfiguration);
  await admin.delete(mutation.kind, bare.metadata.name, undefined);
  await admin.create(mutation.kind, bare);
  const { value, ms } = await until('it is put right', bundles, isRight, signal);
  console.log(`made anew: put right after ${Math.round(ms)} ms`);
  expect(value).toEqual(right);
});

test('the Secret goes with the webhooks, and comes back with them', async ({ signal }) => {
  await startReplicas(DAY_MS);
  await untilAdmitted(signal);
  const before = (await readSecret()).data;
  const removed = new Map<Kind, WebhookConfiguration>();
  for (const registration of registrations) {
    const name = configurationName('memcached-operator', registration);
    removed.set(registration.kind, await admin.get<WebhookConfiguration>(registration.kind, name));
    await admin.delete(registration.kind, name, undefined);
  }
  const isGone = () => readSecret().then(() => false, isNotFound);
  const { ms } = await until('it is gone', isGone, Boolean, signal);
  console.log(`gone after ${Math.round(ms)} ms`);
  for (const [kind, configuration] of removed) await admin.create(kind, anew(configuration));
  const read = () => readSecret().catch(() => undefined);
  const { value: after } = await until('it is back', read, (secret) => secret !== undefined, signal);
  expect(after?.data).toEqual(before);
  await untilAdmitted(signal);
});

/** The authority of the cluster: real, and not ours. */
async function readCa(): Promise<string> {
  const name = 'kube-root-ca.crt';
  const { data } = JSON.parse(
    await cluster.kubectl(['get', 'configmap', name, '-n', NAMESPACE, '-o', 'json']),
  ) as Secret;
  return data['ca.crt'] ?? '';
}

/** As somebody would write it who does not know whom to trust. */
function anew({ metadata, webhooks = [], ...rest }: WebhookConfiguration) {
  const untrusting = webhooks.map(({ clientConfig: { caBundle: _caBundle, ...clientConfig }, ...webhook }) => ({
    ...webhook,
    clientConfig,
  }));
  return { ...rest, metadata: { name: metadata.name }, webhooks: untrusting };
}

test('nothing was refused, and everything granted is used', async ({ signal }) => {
  const requests = () => requestsSince(cluster, 0);
  expect(summary((await requests()).filter(({ responseStatus }) => responseStatus?.code === 403))).toBe('nothing');
  // Without streaming lists it has to ask for plain ones.
  await startCluster({ ...CLUSTER, apiserverArgs: ['--feature-gates=WatchList=false'] });
  await startReplicas(DAY_MS);
  const granted = grantedBy([...webhookPermissions(), ...certificatePermissions()]);
  granted.delete(`get ${GROUP}/${memcachedKind.plural}`); // that is for scaling
  const unused = async () => [...granted.difference(usedBy(await requests()))];
  expect((await until('all is used', unused, ({ length }) => length === 0, signal)).value).toEqual([]);
});
