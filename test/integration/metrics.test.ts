/** The metrics of the operator: who may read them, what they say, and what that costs. */
import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { memcachedKind } from '../../src/api/index.ts';
import { type CertifiedKey, createCertificate } from '../../src/runtime/certificates/certificate.ts';
import { markOf, requestsSince, summary } from '../support/audit.ts';
import { ROOT, startCluster } from '../support/cluster.ts';
import { createReady, memcached, NAMESPACE, stage, until } from '../support/memcacheds.ts';
import { type Family, letRead, newAccount, parsed, type Series, scrape, valueOf } from '../support/metrics.ts';
import { Operator } from '../support/operator.ts';
import { killHard, pidsOf } from '../support/processes.ts';
import { certificate as newCertificate, putSecret } from '../support/secrets.ts';

const CLUSTER = { name: 'test-metrics', form: 'fake', fakeNodes: 2, audit: true } as const;
const at = stage(CLUSTER);

/** A token with which metrics can be read. */
async function newReader(name: string): Promise<string> {
  const token = await newAccount(at.cluster, name);
  await letRead(at.cluster, name);
  return token;
}

async function read(token: string, signal: AbortSignal): Promise<Family[]> {
  const { status, text } = await scrape(at.operator.metricsPort, { token });
  if (status !== 200) throw new Error(`${status}: ${text}`);
  return parsed(text, signal);
}

test('only those are answered whom the API server knows and lets', async ({ signal }) => {
  const ask = (token?: string) => scrape(at.operator.metricsPort, token === undefined ? {} : { token });
  const [anonymous, forged] = [await ask(), await ask('forged')];
  expect([anonymous.status, anonymous.text]).toEqual([401, expect.stringContaining('send the token')]);
  expect([forged.status, forged.text]).toEqual([401, expect.stringContaining('does not accept this token')]);

  const token = await newAccount(at.cluster, 'curious');
  const forbidden = await ask(token);
  expect(forbidden.status).toBe(403);
  expect(forbidden.text).toContain('system:serviceaccount:default:curious may not get the nonResourceURL /metrics');
  for (const { text } of [anonymous, forged, forbidden]) expect(text).not.toContain('# HELP');

  await letRead(at.cluster, 'curious');
  const { ms } = await until(
    at,
    'he may',
    () => ask(token),
    ({ status }) => status === 200,
    signal,
  );
  console.log(`a right that is given counts after ${Math.round(ms)} ms`);

  const otherAudience = await at.cluster.kubectl(['create', 'token', 'curious', '--audience', 'elsewhere']);
  expect((await ask(otherAudience.trim())).status).toBe(401);
  expect(JSON.stringify(at.operator.logs)).not.toContain(token);
});

test('a caller is asked about once, however often he comes', async () => {
  const token = await newReader('busy');
  const mark = await markOf(at.cluster);
  const answers = await Promise.all(Array.from({ length: 20 }, () => scrape(at.operator.metricsPort, { token })));
  answers.push(await scrape(at.operator.metricsPort, { token }));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  const reviews = (await requestsSince(at.cluster, mark)).filter(({ objectRef }) =>
    objectRef?.resource?.endsWith('reviews'),
  );
  expect(summary(reviews)).toBe('1 create tokenreviews, 1 create subjectaccessreviews');
});

/** The rows of the documentation: name, type, and labels. */
async function documented(): Promise<Record<string, { type: string; labels: string[] }>> {
  const page = await readFile(path.join(ROOT, 'docs/metrics.md'), 'utf8');
  const rows = page.matchAll(/^\| `([a-z_]+)` \| (counter|gauge|histogram) \|([^|]*)\|/gm);
  return Object.fromEntries(
    [...rows].map(([, name = '', type = '', labels = '']) => [name, { type, labels: labels.match(/\w+/g) ?? [] }]),
  );
}

/** What is wrong with a metric. */
function faultsOf({ name, type, help, metrics }: Family, labels: readonly string[]): string[] {
  const series = metrics.map((one) => labels.map((label) => one.labels?.[label]).join());
  const faults = {
    'has no help': help === '',
    'is named as what it is not': name.endsWith('_total') !== (type === 'COUNTER'),
    'has other labels': metrics.some(
      (one) =>
        Object.keys(one.labels ?? {})
          .toSorted()
          .join() !== labels.toSorted().join(),
    ),
    'has a series twice': new Set(series).size < series.length,
    'has buckets that do not add up': type === 'HISTOGRAM' && !metrics.every(addsUp),
  };
  return Object.entries(faults).flatMap(([fault, isSo]) => (isSo ? [`${name} ${fault}`] : []));
}

/** Each bucket has what the one before it has, and the last one has everything. */
function addsUp({ buckets = {}, count }: Series): boolean {
  const bound = (text: string) => (text === '+Inf' ? Number.POSITIVE_INFINITY : Number(text));
  const sorted = Object.entries(buckets).toSorted(([a], [b]) => bound(a) - bound(b));
  const isGrowing = sorted.every(([, value], index) => Number(value) >= Number(sorted[index - 1]?.[1] ?? 0));
  return isGrowing && sorted.at(-1)?.[0] === '+Inf' && sorted.at(-1)?.[1] === count;
}

test('Prometheus understands the page, and finds on it exactly what the documentation lists', async ({ signal }) => {
  const token = await newReader('prometheus');
  await createReady(at, memcached('listed', { replicas: 1 }), signal);
  const families = await read(token, signal);
  const listed = await documented();
  // Of a metric without series, the parser says nothing.
  const { text } = await scrape(at.operator.metricsPort, { token });
  const named = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => `${name} ${type}`);
  expect(named.toSorted()).toEqual(
    Object.entries(listed)
      .map(([name, { type }]) => `${name} ${type}`)
      .toSorted(),
  );

  expect(families.flatMap((family) => faultsOf(family, listed[family.name]?.labels ?? []))).toEqual([]);
  console.log(`${families.length} metrics, ${families.reduce((sum, { metrics }) => sum + metrics.length, 0)} series`);
});

test('the numbers are true, and an instance that goes takes its series with it', async ({ signal }) => {
  const token = await newReader('auditor');
  await createReady(at, memcached('counted', { replicas: 2 }), signal);
  const labels = { namespace: NAMESPACE, name: 'counted' };
  const instance = 'memcached_operator_instance';
  const isTold = (seen: Family[]) =>
    valueOf(seen, `${instance}_ready_replicas`, labels) === 2 && valueOf(seen, 'workqueue_depth') === 0;
  const { value: seen } = await until(at, 'it is told', () => read(token, signal), isTold, signal);
  expect(valueOf(seen, `${instance}_desired_replicas`, labels)).toBe(2);
  expect(valueOf(seen, `${instance}_condition`, { ...labels, condition: 'Ready' })).toBe(1);
  expect(valueOf(seen, `${instance}_condition`, { ...labels, condition: 'Degraded' })).toBe(0);
  expect(valueOf(seen, 'rest_client_requests_total', { verb: 'apply', code: '201' })).toBeGreaterThanOrEqual(2);
  expect(valueOf(seen, 'controller_runtime_reconcile_total', { result: 'success' })).toBeGreaterThan(0);
  expect(valueOf(seen, 'controller_runtime_reconcile_errors_total')).toBe(0);
  const [total, timed] = ['workqueue_adds_total', 'controller_runtime_reconcile_time_seconds'].map((name) =>
    valueOf(seen, name),
  );
  expect(timed).toBeLessThanOrEqual(total ?? 0);
  expect(valueOf(seen, 'process_resident_memory_bytes')).toBeGreaterThan(10e6);
  expect(valueOf(seen, 'leader_election_master_status')).toBe(1);

  await at.client.delete(memcachedKind, 'counted', NAMESPACE);
  const page = async () => (await scrape(at.operator.metricsPort, { token })).text;
  await until(at, 'it is gone', page, (text) => !text.includes('name="counted"'), signal);
});

test('it is told when a certificate expires, also that of a renewed one', async ({ signal }) => {
  const token = await newReader('careful');
  const put = async (seconds: number) => {
    const { certificate, key } = newCertificate({ notAfter: new Date(seconds * 1000) });
    await putSecret(at, 'expiring-tls', { 'tls.crt': certificate, 'tls.key': key });
  };
  const now = Math.floor(Date.now() / 1000);
  const [first, second] = [now + 3600, now + 7200];
  await put(first);
  const tls = { enabled: true, certificateSecretRef: { name: 'expiring-tls' } };
  await at.client.create(memcachedKind, memcached('expiring', { replicas: 0, security: { tls } }));
  const metric = 'memcached_operator_instance_certificate_expiry_timestamp_seconds';
  const told = async () => valueOf(await read(token, signal), metric, { namespace: NAMESPACE, name: 'expiring' });
  await until(at, 'it is told', told, (seen) => seen === first, signal);
  await put(second);
  const { value } = await until(at, 'it is told anew', told, (seen) => seen !== first, signal);
  expect(value).toBe(second);
});

test('a page of 1,000 instances', { timeout: 900_000 }, async ({ signal }) => {
  const token = await newReader('patient');
  const before = (await at.client.list(memcachedKind)).items.length;
  for (let first = 0; first < 1000; first += 50)
    await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        at.client.create(memcachedKind, memcached(`many-${first + index}`, { replicas: 0 })),
      ),
    );
  const page = async () => {
    await sleep(1000, undefined, { signal }); // it has a lot to do already
    return (await scrape(at.operator.metricsPort, { token })).text;
  };
  const isComplete = (text: string) =>
    text.match(/^memcached_operator_instance_condition{/gm)?.length === 4 * (1000 + before) &&
    /^workqueue_depth{.*} 0$/m.test(text);
  await until(at, 'all are told', page, isComplete, signal, 840_000);
  expect(valueOf(await read(token, signal), 'memcached_operator_instances')).toBe(1000 + before);

  const times: number[] = [];
  let bytes = 0;
  for (let round = 0; round < 20; round += 1) {
    const { status, text, ms } = await scrape(at.operator.metricsPort, { token });
    expect(status).toBe(200);
    bytes = text.length;
    times.push(ms);
  }
  times.sort((a, b) => a - b);
  const [best, median, worst] = [times[0], times[10], times.at(-1)].map((ms) => Math.round(ms ?? Number.NaN));
  console.log(
    `1,000 instances: ${Math.round(bytes / 1000)} kB in ${median} ms (best ${best}, worst ${worst}; aim: 200)`,
  );
  expect(median).toBeLessThan(5000);
});

async function writePair(directory: string, { certificate, key }: CertifiedKey): Promise<void> {
  await writeFile(path.join(directory, 'tls.crt'), certificate);
  await writeFile(path.join(directory, 'tls.key'), key);
}

test('without a certificate it makes one; one that is given is served, also when it is renewed', async ({ signal }) => {
  const own = new X509Certificate((await scrape(at.operator.metricsPort)).certificate);
  expect(own.verify(own.publicKey)).toBe(true);
  expect(own.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' });

  const directory = await mkdtemp(path.join(tmpdir(), 'metrics-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
  const authority = createCertificate({ subject: 'authority', ...validity, isAuthority: true });
  const issue = () =>
    createCertificate({ subject: 'metrics', dnsNames: ['localhost'], ...validity, issuer: authority });
  const [first, second] = [issue(), issue()];
  await writePair(directory, first);
  const operator = await Operator.start(at.kubeconfig, signal, ['--metrics-cert-dir', directory]);
  const serving = async () => (await scrape(operator.metricsPort, { ca: authority.certificate })).certificate;
  expect(await serving()).toBe(first.certificate);
  await writePair(directory, second);
  const { ms } = await until({ operator }, 'it is renewed', serving, (seen) => seen === second.certificate, signal);
  console.log(`a renewed certificate is served after ${Math.round(ms)} ms`);
  await operator.stop();
});

test('while the API server is away, known callers are answered, and others told why they are not', async ({
  signal,
}) => {
  const [known, unknown] = [await newReader('known'), await newReader('unknown')];
  expect((await scrape(at.operator.metricsPort, { token: known })).status).toBe(200);
  const { 'kube-apiserver': pid } = await pidsOf(at.cluster.instance, ['kube-apiserver']);
  await killHard(pid);
  try {
    const refused = await scrape(at.operator.metricsPort, { token: unknown });
    expect([refused.status, refused.text]).toEqual([503, expect.stringContaining('could not be asked who you are')]);
    expect((await scrape(at.operator.metricsPort, { token: known })).status).toBe(200);
  } finally {
    await startCluster(CLUSTER);
  }
  const isBack = ({ status }: { status: number }) => status === 200;
  await until(at, 'it is back', () => scrape(at.operator.metricsPort, { token: unknown }), isBack, signal);
  expect(JSON.stringify(at.operator.logs)).not.toContain(unknown);
});
