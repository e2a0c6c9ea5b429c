/** The webhooks on a real API server: what is stored, what is refused and in which words, and what kubectl makes of it. */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run, WITHOUT_PROXY } from '../../devcluster/command.ts';
import { addresses, kubeconfigOf } from '../../devcluster/instance.ts';
import { programPath } from '../../devcluster/programs.ts';
import { type Memcached, type MemcachedSpec, memcachedKind } from '../../src/api/index.ts';
import { createCertificate } from '../../src/runtime/certificates/certificate.ts';
import { ApiError, type Client, isNotFound } from '../../src/runtime/client/index.ts';
import type { HttpsServer } from '../../src/runtime/https-server.ts';
import type { Log } from '../../src/runtime/log.ts';
import { register, unregister, urlOf } from '../../src/webhooks/local.ts';
import { serveWebhooks } from '../../src/webhooks/server.ts';
import { admissionExamples } from '../support/admission-examples.ts';
import { eventually, ROOT, startCluster, stopCluster, type TestCluster } from '../support/cluster.ts';
import { administrator, memcached, NAMESPACE } from '../support/memcacheds.ts';

const CLUSTER = { name: 'test-webhooks', form: 'none' } as const;
const LIMITED = { resources: { limits: { memory: '1Gi' } } };

const { signal } = new AbortController();
let cluster: TestCluster;
let client: Client;
let server: HttpsServer;
const logged: string[] = [];
const say = (message: string, fields = {}) => void logged.push(`${message} ${JSON.stringify(fields)}`);
const log: Log = { debug: say, info: say, error: say };

beforeAll(async () => {
  await stopCluster(CLUSTER);
  cluster = await startCluster(CLUSTER);
  client = await administrator(cluster);
  await cluster.kubectl(['apply', '-f', `${ROOT}/config/crd/memcacheds.yaml`]);
  await eventually('Memcacheds are served', () => cluster.kubectl(['get', 'mc']).then(() => true), Boolean, signal);
  await start(0);
});

afterAll(async () => {
  await server?.close();
  await client?.close();
  await stopCluster(CLUSTER);
});

/** Serves the webhooks where the API server reaches this machine, and lets it ask there. */
async function start(port: number): Promise<void> {
  const { host } = addresses(cluster.instance);
  const life = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 86_400_000) };
  const pair = createCertificate({ subject: 'webhooks', ipAddresses: [host], ...life });
  server = await serveWebhooks({ host, port, certificate: () => Promise.resolve(pair), defaults: {}, find, log });
  await register(client, urlOf(host, server.port), pair.certificate);
  const isDefaulted = async () => (await dryRun({})).spec.replicas === 1;
  await eventually('the webhooks are called', isDefaulted, Boolean, signal);
}

async function find(namespace: string, name: string): Promise<Memcached | undefined> {
  try {
    return await client.get<Memcached>(memcachedKind, name, namespace);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function dryRun(spec: MemcachedSpec): Promise<Memcached> {
  const created = await cluster.kubectl(['create', '--dry-run=server', '-o', 'json', '-f', '-'], {
    input: JSON.stringify(memcached('dry-run', spec)),
  });
  return JSON.parse(created) as Memcached;
}

interface Said {
  readonly isDone: boolean;
  readonly stdout: string;
  /** Standard error, line by line. */
  readonly lines: readonly string[];
}

async function kubectl(args: readonly string[], input = ''): Promise<Said> {
  const lines: string[] = [];
  const options = { input, env: WITHOUT_PROXY, onLine: (line: string) => lines.push(line) };
  try {
    const stdout = await run(
      programPath('kubectl'),
      [`--kubeconfig=${kubeconfigOf(cluster.instance)}`, ...args],
      options,
    );
    return { isDone: true, stdout, lines };
  } catch {
    return { isDone: false, stdout: '', lines };
  }
}

function apply(object: Memcached): Promise<Said> {
  return kubectl(['apply', '-f', '-'], JSON.stringify(object));
}

function get(name: string): Promise<Memcached> {
  return client.get<Memcached>(memcachedKind, name, NAMESPACE);
}

function patch(name: string, body: object, subresource?: 'status'): Promise<Memcached> {
  return client.patch<Memcached>(memcachedKind, name, NAMESPACE, {
    type: 'merge',
    body,
    ...(subresource && { subresource }),
  });
}

/** The errors as kubectl shows them: one in the line that says what is wrong, several below it. */
function shown(name: string, errors: readonly string[]): string[] {
  const title = `The Memcached "${name}" is invalid: `;
  return errors.length === 1 ? [`${title}${errors.join()}`] : [title, ...errors.map((error) => `* ${error}`)];
}

describe('the examples of the specification', () => {
  const manifest = (spec: string) =>
    `apiVersion: memcached.c5c3.io/v1alpha1\nkind: Memcached\nmetadata:\n  name: my-cache\nspec:${spec.replaceAll('\n    ', '\n')}\n`;

  test.for(admissionExamples.filter(({ errors }) => errors.length > 0))('refused: $what', async ({ spec, errors }) => {
    expect((await kubectl(['apply', '-f', '-'], manifest(spec))).lines).toEqual(shown('my-cache', errors));
  });

  test.for(admissionExamples.filter(({ errors }) => errors.length === 0))('accepted: $what', async ({ spec }) => {
    expect((await kubectl(['apply', '-f', '-'], manifest(spec))).stdout).toContain('created');
    expect((await get('my-cache')).metadata.generation).toBe(1);
    await cluster.kubectl(['delete', 'mc', 'my-cache']);
  });
});

test('every mistake that webhooks find, at once, in one answer', async () => {
  const spec: MemcachedSpec = {
    replicas: 3,
    resources: { requests: { memory: '1Gi' }, limits: { cpu: '1e1.5', memory: '64Mi' } },
    memcached: {
      maxItemSize: '700k',
      maxConnections: 20,
      extraArgs: [
        '-d',
        '-Q',
        '-f',
        '1',
        '-N',
        '5',
        '-o',
        'foo,ssl_key=x,hashpower=12,hot_lru_pct=79,temporary_ttl=1,no_modern,slab_sizes=1',
        '-oext_path=/tmp/x:1m,ext_page_size=3',
      ],
    },
    highAvailability: {
      podDisruptionBudget: { enabled: true, minAvailable: 3 },
      gracefulShutdown: { enabled: true, preStopDelaySeconds: 10, terminationGracePeriodSeconds: 10 },
    },
    security: { sasl: { enabled: true }, tls: { enabled: false, enableClientCert: true }, networkPolicy: {} },
    networkPolicy: {},
    autoscaling: { enabled: true, minReplicas: 10, maxReplicas: 5 },
    podLabels: { '-': 'a' },
  };
  const { lines } = await apply(memcached('1-wrong', spec));
  console.log(lines.join('\n'));
  expect(lines[0]).toBe('The Memcached "1-wrong" is invalid: ');
  const fields = lines.slice(1).map((line) => line.replace(/^\* ([^:]*): .*$/, '$1'));
  expect(fields).toEqual([
    'metadata.name',
    'spec.resources.limits.memory',
    'spec.resources.limits.cpu',
    'spec.resources.requests.memory',
    'spec.memcached.maxItemSize',
    'spec.memcached.maxConnections',
    'spec.memcached.extraArgs[0]', // -d
    'spec.memcached.extraArgs[1]', // -Q
    'spec.memcached.extraArgs[2]', // -f
    'spec.memcached.extraArgs[6]', // foo
    'spec.memcached.extraArgs[6]', // ssl_key
    'spec.memcached.extraArgs', // hashpower
    'spec.memcached.extraArgs', // napi-ids
    'spec.memcached.extraArgs', // hot_lru_pct
    'spec.memcached.extraArgs', // temporary_ttl
    'spec.memcached.extraArgs', // slab_sizes
    'spec.memcached.extraArgs', // ext_path
    'spec.memcached.extraArgs', // ext_page_size
    'spec.memcached.extraArgs', // too small a file
    'spec.highAvailability.podDisruptionBudget.minAvailable',
    'spec.highAvailability.gracefulShutdown.terminationGracePeriodSeconds',
    'spec.security.sasl.credentialsSecretRef.name',
    'spec.security.tls.enableClientCert',
    'spec.security.networkPolicy',
    'spec.replicas',
    'spec.autoscaling.minReplicas',
    'spec.resources.requests.cpu',
    'spec.podLabels',
  ]);
});

test('programs get the status that the API server itself would give', async () => {
  const wrong = memcached('wrong', { memcached: { maxItemSize: '700k' } });
  const error: unknown = await client.create(memcachedKind, wrong).catch((caught: unknown) => caught);
  const message =
    'Invalid value: "700k": maxItemSize must be a multiple of 512k between 512k and 32m (half of maxMemoryMB)';
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({
    status: 422,
    reason: 'Invalid',
    message: `admission webhook "validation.memcached.c5c3.io" denied the request: Memcached.memcached.c5c3.io "wrong" is invalid: spec.memcached.maxItemSize: ${message}`,
    details: {
      name: 'wrong',
      group: 'memcached.c5c3.io',
      kind: 'Memcached',
      causes: [{ reason: 'FieldValueInvalid', message, field: 'spec.memcached.maxItemSize' }],
    },
  });
});

describe('defaults', () => {
  test('are stored, once', async () => {
    await cluster.kubectl(['apply', '--server-side', '-f', '-'], { input: JSON.stringify(memcached('plain')) });
    const first = await get('plain');
    expect(first.spec).toEqual({
      replicas: 1,
      image: 'memcached:1.6',
      memcached: { maxMemoryMB: 64, maxConnections: 1024, threads: 4, maxItemSize: '1m', verbosity: 0, extraArgs: [] },
    });
    await cluster.kubectl(['apply', '--server-side', '-f', '-'], { input: JSON.stringify(memcached('plain')) });
    await cluster.kubectl(['label', 'mc', 'plain', 'team=a']);
    const last = await get('plain');
    expect(last.spec).toEqual(first.spec);
    expect(last.metadata.generation).toBe(1);
  });

  test('what the user wrote stays, even where it is empty', async () => {
    const spec = { replicas: 0, image: '', memcached: { extraArgs: ['-M'] }, monitoring: { exporterImage: '' } };
    const { spec: stored } = await dryRun(spec);
    expect(stored).toMatchObject(spec);
    const scaling = { ...LIMITED, autoscaling: { enabled: true, maxReplicas: 3, metrics: [] } };
    const { lines } = await apply(memcached('scaling', scaling));
    expect(lines.join()).toContain('resources.requests.cpu is required'); // no metrics mean the default one
  });

  test('autoscaling on and off keeps the servers', async () => {
    const resources = { requests: { cpu: 1 }, limits: { memory: '1Gi' } };
    await client.create(memcachedKind, memcached('switched', { resources, replicas: 3 }));
    const on = await patch('switched', { spec: { autoscaling: { enabled: true, maxReplicas: 9 } } });
    expect(on.spec).not.toHaveProperty('replicas');
    await patch('switched', { status: { replicas: 7 } }, 'status');
    expect((await patch('switched', { spec: { autoscaling: { enabled: false } } })).spec.replicas).toBe(7);
    await expect(patch('switched', { spec: { replicas: 4, autoscaling: { enabled: true } } })).rejects.toThrow(
      'spec.replicas and spec.autoscaling.enabled are mutually exclusive',
    );
  });

  test('a spec of the wrong structure is refused by the API server, in its own words', async () => {
    for (const spec of [{ replicas: 'x' }, { memcached: 5 }, { monitoring: null, replicas: 65 }]) {
      const { lines } = await apply(memcached('wrong', spec as unknown as MemcachedSpec));
      expect(lines.join()).toMatch(/is invalid: .*in body/);
      expect(lines.join()).not.toContain('admission webhook');
    }
  });
});

test('warnings reach kubectl', async () => {
  const spec = { memcached: { verbosity: 2 }, image: 'memcached' };
  const { isDone, lines } = await apply(memcached('warned', spec));
  expect(isDone).toBe(true);
  expect(lines).toEqual([
    'Warning: spec.image: "memcached" has neither tag nor digest, so that servers may differ in version and change it unasked; name a version, such as memcached:1.6.45',
    'Warning: spec.resources.limits.memory: without a limit a server may take memory that its node needs for others; set it to 127Mi or more',
    'Warning: spec.memcached.verbosity: every command will be logged, with its key; set it to 1 or 0 when you have seen enough',
  ]);
  expect((await kubectl(['label', 'mc', 'warned', 'team=a'])).lines).toEqual([]);
});

describe('scale', () => {
  test('is held to the same rules', async () => {
    const highAvailability = { podDisruptionBudget: { enabled: true, minAvailable: 2 } };
    await client.create(memcachedKind, memcached('scaled', { ...LIMITED, replicas: 3, highAvailability }));
    expect((await kubectl(['scale', 'mc/scaled', '--replicas=5'])).lines).toEqual([]);
    expect((await get('scaled')).spec.replicas).toBe(5);
    const { isDone, lines } = await kubectl(['scale', 'mc/scaled', '--replicas=2']);
    expect(isDone).toBe(false);
    expect(lines.join()).toContain('minAvailable (2) must be less than replicas (2)');
    expect((await get('scaled')).spec.replicas).toBe(5);
    expect((await kubectl(['scale', 'mc/scaled', '--replicas=0'])).isDone).toBe(true);
    expect((await get('scaled')).spec.replicas).toBe(0);
    expect((await kubectl(['scale', 'mc/nobody', '--replicas=1'])).lines.join()).toContain('not found');
  });

  test('is refused while autoscaling decides', async () => {
    const resources = { requests: { cpu: 1 }, limits: { memory: '1Gi' } };
    const autoscaling = { enabled: true, maxReplicas: 9 };
    await client.create(memcachedKind, memcached('scales-itself', { resources, autoscaling }));
    const { lines } = await kubectl(['scale', 'mc/scales-itself', '--replicas=5']);
    expect(lines.join()).toContain('spec.replicas and spec.autoscaling.enabled are mutually exclusive');
    expect((await get('scales-itself')).spec).not.toHaveProperty('replicas');
  });
});

test('an update of metadata alone is never refused, whatever the spec; nor is a deletion', async () => {
  await unregister(client);
  const wrong = { memcached: { maxItemSize: '700k' }, autoscaling: { enabled: true }, replicas: 2 };
  const isUnasked = () => client.create(memcachedKind, memcached('older', wrong)).then(() => true);
  await eventually('the webhooks are no longer called', isUnasked, Boolean, signal);
  const { port } = server;
  await server.close();
  await start(port);

  const before = await get('older');
  expect((await kubectl(['label', 'mc', 'older', 'team=a'])).lines).toEqual([]);
  expect((await kubectl(['annotate', 'mc', 'older', 'memcached.c5c3.io/paused=true'])).isDone).toBe(true);
  await patch('older', { metadata: { finalizers: ['example.com/wait'] } });
  await patch('older', { status: { replicas: 2 } }, 'status');
  expect(isDeepStrictEqual((await get('older')).spec, before.spec)).toBe(true);
  await expect(patch('older', { spec: { image: 'memcached:1.6.45' } })).rejects.toThrow('maxItemSize must be');
  await client.delete(memcachedKind, 'older', NAMESPACE);
  await patch('older', { metadata: { finalizers: null } });
  await expect(get('older')).rejects.toSatisfy(isNotFound);
});

test('while nobody answers, nothing is stored; then it goes on', async () => {
  const { port } = server;
  await server.close();
  await expect(client.create(memcachedKind, memcached('unasked'))).rejects.toThrow('failed calling webhook');
  await start(port);
  await client.create(memcachedKind, memcached('unasked', LIMITED));
});

test('what it costs; and nothing has gone wrong', async () => {
  const times: number[] = [];
  for (let round = 0; round < 200; round += 1) {
    const begin = performance.now();
    await client.create(memcachedKind, memcached(`timed-${round}`, LIMITED));
    times.push(performance.now() - begin);
  }
  await unregister(client);
  const bare: number[] = [];
  for (let round = 0; round < 200; round += 1) {
    const begin = performance.now();
    await client.create(memcachedKind, memcached(`bare-${round}`, LIMITED));
    bare.push(performance.now() - begin);
  }
  const median = (all: number[]) => (all.toSorted((a, b) => a - b)[all.length / 2] ?? 0).toFixed(1);
  console.log(
    `a creation takes ${median(times)} ms with webhooks, ${median(bare)} ms without (medians of ${times.length})`,
  );
  expect(logged).toEqual([]);
});
