/** Security that changes beneath real consumers: what is new counts, what is old no longer, and what is wrong with a Secret stops nobody. */
import { beforeAll, describe, expect, test } from 'vitest';
import { type Memcached, type MemcachedSpec, memcachedKind } from '../../src/api/index.ts';
import type { CertifiedKey } from '../../src/runtime/certificates/certificate.ts';
import { clientCertificate } from '../support/client-certificate.ts';
import { eventually } from '../support/cluster.ts';
import { deployed } from '../support/deployed.ts';
import { change, conditions, getMemcached, isReady, memcached, message, NAMESPACE } from '../support/memcacheds.ts';
import { certificate, putSecret, random } from '../support/secrets.ts';
import { between, CLIENTS_IMAGE, type Papers, report, startClients } from '../support/token-cache.ts';

const authority = certificate({ isAuthority: true });
const [USER, PASSWORD] = ['keystone', random()];
const CONSUMER = 'consumer';
const KEYSTONE = 'keystone';
/** The one whose clients must not notice anything. */
const WATCHED = 'mtls';

interface Mode {
  readonly name: string;
  readonly tls?: 'server' | 'mutual';
  readonly sasl?: true;
}

/** Those in which the exporter has something to show. */
const modes: readonly Mode[] = [
  { name: 'plain' },
  { name: 'tls', tls: 'server' },
  { name: WATCHED, tls: 'mutual' },
  { name: 'sasl', sasl: true },
  { name: 'tls-sasl', tls: 'server', sasl: true },
  { name: 'mtls-sasl', tls: 'mutual', sasl: true },
];

const at = deployed('test-security-2', [
  `pod/${CONSUMER}`,
  `pod/${KEYSTONE}`,
  `configmap/${KEYSTONE}`,
  ...modes.map(({ name }) => `secret/${name}-secret`),
]);

function specOf({ name, tls, sasl }: Mode): MemcachedSpec {
  const secret = { name: `${name}-secret` };
  return {
    monitoring: { enabled: true },
    highAvailability: { gracefulShutdown: { enabled: name === WATCHED } },
    security: {
      ...(tls && { tls: { enabled: true, enableClientCert: tls === 'mutual', certificateSecretRef: secret } }),
      ...(sasl && { sasl: { enabled: true, credentialsSecretRef: secret } }),
    },
  };
}

const serverOf = (name: string) => `${name}-0.${name}.${NAMESPACE}.svc`;

/** A certificate for the servers of one Memcached. */
const certified = (name: string, options: Parameters<typeof certificate>[0] = {}) =>
  certificate({ issuer: authority, dnsNames: [serverOf(name)], ...options });

const encryption = ({ certificate: crt, key }: CertifiedKey) => ({
  'tls.crt': crt,
  'tls.key': key,
  'ca.crt': authority.certificate,
});

const passwords = (name: string, ...all: string[]) => ({
  'memcached-sasl-db': all.map((password) => `${USER}@${name}:${password}\n`).join(''),
});

async function prepare(mode: Mode): Promise<void> {
  const { name, tls, sasl } = mode;
  const texts = { ...(tls && encryption(certified(name))), ...(sasl && passwords(name, PASSWORD)) };
  if (tls || sasl) await putSecret(at, `${name}-secret`, texts);
  await at.client.create(memcachedKind, memcached(name, specOf(mode)));
}

let client: Papers;

beforeAll(async () => {
  client = { ...(await clientCertificate(authority)), authority: authority.certificate };
  const container = { name: CONSUMER, image: CLIENTS_IMAGE, command: ['sleep', 'infinity'] };
  const spec = { terminationGracePeriodSeconds: 0, containers: [container] };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: CONSUMER, namespace: NAMESPACE }, spec };
  await at.kubectl(['apply', '-f', '-'], { input: JSON.stringify(pod) });
  await Promise.all(modes.map(prepare));
  await at.kubectl(['wait', '--for=condition=Ready', `pod/${CONSUMER}`, '--timeout=240s']);
  await at.kubectl(['wait', '--for=condition=Ready', ...modes.map(({ name }) => `mc/${name}`), '--timeout=240s']);
});

/** What a Python program prints at the consumer's. */
const python = (script: string, ...args: string[]) =>
  at.kubectl(['exec', CONSUMER, '--', 'python3', '-c', script, ...args]);

const PAGE = `
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())
`;

/** What dashboards ask for; where the specification has another name, the exporter's own. */
const SHOWN = [
  /^memcached_up 1$/m,
  /^memcached_current_connections [1-9]/m,
  /^memcached_commands_total\{command="set",status="hit"\} /m,
  /^memcached_commands_total\{command="get",status="hit"\} /m, // memcached_get_hits_total
  /^memcached_commands_total\{command="get",status="miss"\} /m, // memcached_get_misses_total
  /^memcached_current_bytes /m,
  /^memcached_limit_bytes 6\.7108864e\+07$/m,
  /^memcached_items_evicted_total /m,
  /^memcached_items_total /m,
  /^memcached_read_bytes_total /m,
  /^memcached_written_bytes_total /m,
];

describe.for(modes)('$name', ({ name }) => {
  test('shows on its page what dashboards ask for', async ({ signal }) => {
    const read = () => python(PAGE, `http://${serverOf(name)}:9150/metrics`);
    const page = await eventually('there is a page', read, Boolean, signal);
    expect(SHOWN.filter((line) => !line.test(page)).map(String)).toEqual([]);
  });
});

const CONNECT = `
import socket, sys
try:
    connection = socket.create_connection((sys.argv[1], 11211), timeout=3)
    connection.sendall(b"version\\r\\n")
    print(connection.recv(100).decode().strip())
except OSError as error:
    print("kept out:", error)
`;

test('a network policy keeps strangers out and lets scrapers in; without it, everyone is in again', async ({
  signal,
}) => {
  const allowedSources = [{ podSelector: { matchLabels: { app: 'somebody-else' } } }];
  const connect = async () => (await python(CONNECT, serverOf('plain'))).trim();
  const isServed = (said: string) => said.startsWith('VERSION ');
  await eventually('it is served', connect, isServed, signal);
  await change(at, 'plain', { spec: { networkPolicy: { enabled: true, allowedSources } } });
  await eventually('it is kept out', connect, (said) => said.startsWith('kept out: '), signal);
  expect(await python(PAGE, `http://${serverOf('plain')}:9150/metrics`)).toMatch(/^memcached_up 1$/m);
  await change(at, 'plain', { spec: { networkPolicy: null } });
  expect(await eventually('it is served again', connect, isServed, signal)).toMatch(/^VERSION /);
});

/** As oslo.cache uses a pool of connections: a value that is stored and read again, or why not. */
const POOL = `
import json, sys, tempfile
from oslo_cache import core
from oslo_config import cfg
told = json.loads(sys.argv[1])
with tempfile.NamedTemporaryFile("w", suffix=".crt") as file:
    file.write(told["authority"])
    file.flush()
    conf = cfg.ConfigOpts()
    core.configure(conf)
    conf([], project="keystone")
    given = dict(enabled=True, backend="oslo_cache.memcache_pool", memcache_servers=[told["server"]], tls_enabled=True, tls_cafile=file.name)
    if "password" in told:
        given.update(memcache_sasl_enabled=True, username="keystone", password=told["password"])
    for name, value in given.items():
        conf.set_override(name, value, group="cache")
    region = core.configure_cache_region(conf, core.create_region())
    try:
        region.set("key", "value")
        print(region.get("key"))
    except Exception as error:
        print("refused:", type(error).__name__, error)
`;

const pool = async (password?: string) => {
  const told = { server: `${serverOf('tls-sasl')}:11211`, authority: authority.certificate, password };
  return (await python(POOL, JSON.stringify(told))).trim();
};

const isServed = (said: string) => said === 'value';

/** Resolves when the change of a Secret has reached the servers, and they serve. */
async function rolled(name: string, work: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  const pods = () =>
    at.kubectl(['get', 'pods', '-l', `app.kubernetes.io/instance=${name}`, '-o', 'jsonpath={.items[*].metadata.name}']);
  const before = await pods();
  await work();
  await eventually('another one serves', pods, (now) => now !== '' && !now.includes(before), signal);
  await eventually('it is ready', () => getMemcached(at, name), isReady, signal);
}

test('a pool of connections (oslo.cache) is served with the right password only', async ({ signal }) => {
  expect(await eventually('it is served', () => pool(PASSWORD), isServed, signal)).toBe('value');
  for (const password of ['wrong', undefined]) {
    const said = await pool(password);
    console.log(`${password ?? 'no password'}: ${said.slice(0, 120)}`);
    expect(said).not.toContain('value');
  }
});

test('two passwords, then the new one alone: nobody is locked out between, and the old one is of no use after', async ({
  signal,
}) => {
  const next = random();
  const [name, secret] = ['tls-sasl', 'tls-sasl-secret'];
  const pair = encryption(certified(name));
  await rolled(name, () => putSecret(at, secret, { ...pair, ...passwords(name, PASSWORD, next) }), signal);
  for (const password of [PASSWORD, next])
    expect(await eventually('it is served', () => pool(password), isServed, signal)).toBe('value');
  await rolled(name, () => putSecret(at, secret, { ...pair, ...passwords(name, next) }), signal);
  expect(await eventually('it is served', () => pool(next), isServed, signal)).toBe('value');
  expect(await pool(PASSWORD)).not.toContain('value');
});

const SERIAL = `
import socket, ssl, sys
context = ssl._create_unverified_context()
with context.wrap_socket(socket.create_connection((sys.argv[1], 11211), timeout=5)) as connection:
    print(ssl.DER_cert_to_PEM_cert(connection.getpeercert(True)).replace("\\n", ""))
`;

test('a new certificate, while Keystone works: no call fails', async ({ signal }) => {
  const [name, secret] = [WATCHED, `${WATCHED}-secret`];
  await startClients(at, KEYSTONE, [`${serverOf(name)}:11211`], client);
  const before = await report(at, KEYSTONE, signal);
  const next = certified(name);
  await rolled(name, () => putSecret(at, secret, encryption(next)), signal);
  const { operations, failed } = between(before, await report(at, KEYSTONE, signal));
  console.log(`${operations} calls, failed: ${JSON.stringify(failed)}`);
  expect(failed).toEqual([]);
  const served = await python(SERIAL, serverOf(name));
  expect(served.trim()).toBe(next.certificate.replaceAll('\n', ''));
});

const broken = (name: string): Readonly<Record<string, Record<string, string>>> => ({
  garbage: encryption({ certificate: 'this is no certificate', key: certified(name).key }),
  'the key of another': encryption({ certificate: certified(name).certificate, key: certified(name).key }),
  'an expired one': encryption(certified(name, { notAfter: new Date(Date.now() - 60_000) })),
});

test('a certificate that is no good is told, and nobody notices: the servers stay, and no call fails', async ({
  signal,
}) => {
  const [name, secret] = [WATCHED, `${WATCHED}-secret`];
  const pods = () =>
    at.kubectl(['get', 'pods', '-l', `app.kubernetes.io/instance=${name}`, '-o', 'jsonpath={.items[*].metadata.uid}']);
  const [uids, before] = [await pods(), await report(at, KEYSTONE, signal)];
  const look = () => getMemcached(at, name);
  const words = new Set<string>();
  for (const [what, texts] of Object.entries(broken(name))) {
    await putSecret(at, secret, texts);
    const isTold = (seen: Memcached) =>
      conditions(seen)['Degraded'] === 'True/SecretInvalid' && !words.has(message(seen, 'Degraded'));
    const told = message(await eventually(`${what} is told`, look, isTold, signal), 'Degraded');
    console.log(`${what}: ${told}`);
    words.add(told);
    expect(conditions(await look())).toMatchObject({ Available: 'True/DeploymentAvailable' });
    expect(await pods()).toBe(uids);
  }
  const { failed } = between(before, await report(at, KEYSTONE, signal));
  expect(failed).toEqual([]);
  await rolled(name, () => putSecret(at, secret, encryption(certified(name))), signal);
  expect(conditions(await look())['Degraded']).toBe('False/AllReplicasReady');
});
