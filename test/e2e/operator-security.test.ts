/** Every mode of security, on real nodes: memcached starts, serves those who may, refuses others, and is measured where that can be. */
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Memcached, type MemcachedSpec, memcachedKind } from '../../src/api/index.ts';
import type { CertifiedKey } from '../../src/runtime/certificates/certificate.ts';
import { clientCertificate } from '../support/client-certificate.ts';
import { eventually } from '../support/cluster.ts';
import {
  conditions,
  eventsOf,
  getDeployment,
  getMemcached,
  isReady,
  memcached,
  message,
  NAMESPACE,
  stage,
  until,
} from '../support/memcacheds.ts';
import { get, python } from '../support/pods.ts';
import { certificate, putSecret, random } from '../support/secrets.ts';

const at = stage({ name: 'test-security', form: 'real' });

afterEach(() => at.operator.assertAlive());

const USER = 'keystone';
const PASSWORD = random();
const authority = certificate({ isAuthority: true });

interface Mode {
  readonly name: string;
  readonly tls?: 'server' | 'mutual';
  readonly authentication?: 'sasl' | 'ascii';
}

const modes: readonly Mode[] = [
  { name: 'tls', tls: 'server' },
  { name: 'mtls', tls: 'mutual' },
  { name: 'sasl', authentication: 'sasl' },
  { name: 'tls-sasl', tls: 'server', authentication: 'sasl' },
  { name: 'mtls-sasl', tls: 'mutual', authentication: 'sasl' },
  { name: 'ascii', authentication: 'ascii' },
  { name: 'tls-ascii', tls: 'server', authentication: 'ascii' },
];

function specOf({ name, tls, authentication }: Mode): MemcachedSpec {
  const certificateSecretRef = { name: `${name}-certificate` };
  const credentialsSecretRef = { name: `${name}-passwords` };
  return {
    monitoring: { enabled: true },
    highAvailability: { gracefulShutdown: { enabled: false } },
    security: {
      ...(tls && { tls: { enabled: true, enableClientCert: tls === 'mutual', certificateSecretRef } }),
      ...(authentication && { sasl: { enabled: true, credentialsSecretRef } }),
    },
  };
}

function passwords({ name, authentication }: Mode, password: string): Record<string, string> {
  return authentication === 'sasl'
    ? { 'memcached-sasl-db': `${USER}@${name}:${password}\n` }
    : { 'password-file': `${USER}:${password}\n` };
}

const hostOf = (name: string) => `${name}.${NAMESPACE}.svc`;

async function prepare(mode: Mode): Promise<void> {
  const { name, tls, authentication } = mode;
  if (tls) {
    const { certificate: crt, key } = certificate({ issuer: authority, dnsNames: [hostOf(name)] });
    // The server's certificate is for servers only: the operator needs another one.
    const operator = tls === 'mutual' ? await clientCertificate(authority) : undefined;
    await putSecret(at, `${name}-certificate`, {
      'tls.crt': crt,
      'tls.key': key,
      'ca.crt': authority.certificate,
      ...(operator && { 'client.crt': operator.certificate, 'client.key': operator.key }),
    });
  }
  if (authentication) await putSecret(at, `${name}-passwords`, passwords(mode, PASSWORD));
  await at.client.create(memcachedKind, memcached(name, specOf(mode)));
}

/** What a client does, with the libraries that our users' software has. One that stays leaves its connections open. */
const CLIENT = `
import json, os, ssl, sys, tempfile, time
import bmemcached
from pymemcache.client.base import Client

told = json.loads(sys.argv[1])
isBinary = told["protocol"] == "binary"

def written(text):
    file = tempfile.NamedTemporaryFile("w", delete=False)
    file.write(text)
    file.close()
    return file.name

def connected(context):
    if isBinary:
        return bmemcached.Client((told["host"] + ":11211",), told.get("user"), told.get("password"), tls_context=context)
    client = Client((told["host"], 11211), tls_context=context, connect_timeout=5, timeout=5)
    if "user" in told:
        client.set("auth", told["user"] + " " + told["password"], noreply=False)
    return client

def served(client):
    client.set("key", "value", **({} if isBinary else {"noreply": False}))
    value = client.get("key")
    return value.decode() if isinstance(value, bytes) else value

def figures(client):
    stats = next(iter(client.stats().values())) if isBinary else client.stats()
    text = lambda value: value.decode() if isinstance(value, bytes) else str(value)
    return json.dumps({text(name): text(value) for name, value in stats.items()})

def stay(clients):
    for client in clients:
        assert all(served(client) == "value" for _ in range(60))
        assert all(client.get("missing") is None for _ in range(20))
    if os.fork() == 0:
        os.setsid()
        os.closerange(0, 3)
        time.sleep(3600)
    return "stays"

try:
    context = None
    if "authority" in told:
        context = ssl.create_default_context(cadata=told["authority"])
        if "certificate" in told:
            context.load_cert_chain(written(told["certificate"]), written(told["key"]))
    if told.get("deed") == "stay":
        print(stay([connected(context) for _ in range(5)]))
    elif told.get("deed") == "look":
        print(figures(connected(context)))
    else:
        print(served(connected(context)))
except Exception as error:
    print("refused:", type(error).__name__, error)
`;

interface Told {
  readonly host: string;
  readonly protocol: 'ascii' | 'binary';
  readonly authority?: string;
  readonly certificate?: string;
  readonly key?: string;
  readonly user?: string;
  readonly password?: string;
  /** Instead of one value: 300 hits and 100 misses over five connections, or what the server says of itself. */
  readonly deed?: 'stay' | 'look';
}

async function speak(told: Told): Promise<string> {
  return (await python(at.cluster, 'client', CLIENT, JSON.stringify(told))).trim();
}

/** All that a client needs to be served. */
function toldFor({ name, tls, authentication }: Mode, client: CertifiedKey): Told {
  return {
    host: hostOf(name),
    protocol: authentication === 'sasl' ? 'binary' : 'ascii',
    ...(tls && { authority: authority.certificate }),
    ...(tls === 'mutual' && client),
    ...(authentication && { user: USER, password: PASSWORD }),
  };
}

/** Those who lack one thing each. */
function strangers({ tls, authentication }: Mode, told: Told): Record<string, Told> {
  const { authority: _a, certificate: _c, key: _k, ...plain } = told;
  const { certificate: _, key: _key, ...nameless } = told;
  const { user: _u, password: _p, ...silent } = told;
  return {
    ...(tls && { 'without TLS': plain }),
    ...(tls === 'mutual' && { 'without a certificate': nameless }),
    ...(authentication && { 'without a password': silent, 'with a wrong password': { ...told, password: 'wrong' } }),
  };
}

async function metricsOf(name: string): Promise<string> {
  const address = await get(at.cluster, `pods -l app.kubernetes.io/instance=${name}`, '{.items[0].status.podIP}');
  return (await fetch(`http://${address}:9150/metrics`)).text();
}

let client: CertifiedKey;

beforeAll(async () => {
  client = await clientCertificate(authority);
  const image = 'localhost/memcached-clients:1';
  await at.cluster.kubectl(['run', 'client', `--image=${image}`, '--image-pull-policy=Never', '--restart=Never']);
  await Promise.all(modes.map(prepare));
  await at.cluster.kubectl(['wait', '--for=condition=Ready', 'pod/client', '--timeout=180s']);
});

describe.for(modes)('$name', (mode) => {
  test('becomes ready and serves those who may', async ({ signal }) => {
    const look = () => getMemcached(at, mode.name);
    const { value } = await until(at, `${mode.name} is ready`, look, isReady, signal, 240_000);
    expect(conditions(value)).toMatchObject({ Available: 'True/DeploymentAvailable' });
    const told = toldFor(mode, client);
    // The name of a new server takes a moment to be known everywhere.
    const answer = await eventually(
      'it serves',
      () => speak(told),
      (said) => said === 'value',
      signal,
    );
    expect(answer).toBe('value');
    expect(await speak({ ...told, deed: 'stay' })).toBe('stays');
  });
});

describe.for(modes)('$name', (mode) => {
  const { name, authentication } = mode;

  test('refuses the others', async () => {
    for (const [who, told] of Object.entries(strangers(mode, toldFor(mode, client)))) {
      const answer = await speak(told);
      console.log(`${who}: ${answer.slice(0, 120)}`);
      expect(answer).toMatch(/^(refused: |None$)/);
    }
  });

  test('is measured where that can be, and says so where it cannot', async () => {
    const metrics = await metricsOf(name);
    const seen = await getMemcached(at, name);
    const events = (await eventsOf(at, name)).filter((event) => event.startsWith('MetricsUnavailable: '));
    const isAscii = authentication === 'ascii';
    expect(metrics).toMatch(isAscii ? /^memcached_up 0$/m : /^memcached_up 1$/m);
    expect(message(seen, 'Ready').includes('Metrics are unavailable')).toBe(isAscii);
    expect(events).toHaveLength(isAscii ? 1 : 0);
  });
});

/** In every mode the operator gets what the client gets. All have waited at the same time. */
describe.for(modes)('$name', (mode) => {
  test('shows what its server does', async ({ signal }) => {
    const look = () => getMemcached(at, mode.name);
    const isTold = ({ status }: Memcached) => status?.hitRatio === '0.75';
    const { ms } = await until(at, 'the hit ratio is 0.75', look, isTold, signal, 240_000);
    console.log(`${mode.name}: the hit ratio came ${Math.round(ms)} ms after we began to look`);
    const compare = async () => {
      const figures = JSON.parse(await speak({ ...toldFor(mode, client), deed: 'look' })) as Record<string, string>;
      // The client sees itself as well, beside the operator, which stays connected.
      const connections = Number(figures['curr_connections']) - 1;
      return { figures, connections, status: (await look()).status };
    };
    const { figures, status } = await eventually(
      'both see the same connections', // but for a probe that is just there
      compare,
      (seen) => seen.connections === seen.status?.currentConnections,
      signal,
    );
    expect(figures).toMatchObject({ get_hits: '301', get_misses: '100', version: status?.memcachedVersion });
  });
});

test('a new password rolls the servers once, and the old one is of no use', async ({ signal }) => {
  const mode: Mode = { name: 'tls-sasl', tls: 'server', authentication: 'sasl' };
  const before = await getDeployment(at, mode.name);
  const password = random();
  await putSecret(at, `${mode.name}-passwords`, passwords(mode, password));
  const isRolled = ({ metadata, status }: Awaited<ReturnType<typeof getDeployment>>) =>
    (metadata.generation ?? 0) > (before.metadata.generation ?? 0) &&
    status?.observedGeneration === metadata.generation;
  await until(at, 'it rolls', () => getDeployment(at, mode.name), isRolled, signal);
  const look = () => getMemcached(at, mode.name);
  await until(at, 'it is ready', look, (seen: Memcached) => isReady(seen), signal, 240_000);
  const told = toldFor(mode, client);
  await eventually(
    'it serves',
    () => speak({ ...told, password }),
    (said) => said === 'value',
    signal,
  );
  expect(await speak(told)).toMatch(/^refused: /);
  const sets = await get(
    at.cluster,
    `replicasets -l app.kubernetes.io/instance=${mode.name}`,
    '{.items[*].metadata.name}',
  );
  expect(sets.split(' ')).toHaveLength(2);
});
