/** Webhooks of an operator that is not in the cluster: registered while it runs, repaired after it was killed; and mounted certificates. */
import { mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { addresses, kubeconfigOf } from '../../devcluster/instance.ts';
import { memcachedKind } from '../../src/api/index.ts';
import { type CertifiedKey, createCertificate } from '../../src/runtime/certificates/certificate.ts';
import type { Client } from '../../src/runtime/client/index.ts';
import { configurationFor, configurationName, registrations } from '../../src/webhooks/configurations.ts';
import { eventually, startCluster, stopCluster, type TestCluster } from '../support/cluster.ts';
import { deploy } from '../support/command-line.ts';
import { administrator, memcached } from '../support/memcacheds.ts';
import { type Family, letRead, newAccount, parsed, scrape, valueOf } from '../support/metrics.ts';
import { freePort, installOperator, Operator } from '../support/operator.ts';

const CLUSTER = { name: 'test-local-webhooks', form: 'none' } as const;
const LOCAL = ['--webhook-local-host', 'auto', '--webhook-bind-address', ':0'];

let cluster: TestCluster;
let client: Client;
let kubeconfig: string;

beforeAll(async () => {
  await stopCluster(CLUSTER);
  cluster = await startCluster(CLUSTER);
  client = await administrator(cluster);
  await installOperator(cluster, new AbortController().signal);
  kubeconfig = kubeconfigOf(cluster.instance); // of somebody who may register webhooks
});

afterAll(async () => {
  await client?.close();
  await stopCluster(CLUSTER);
});

let count = 0;

/** Something that only a webhook refuses: what is said to it; "" when it is stored. */
async function refusal(): Promise<string> {
  const name = `refused-${count++}`;
  return client.create(memcachedKind, memcached(name, { memcached: { extraArgs: ['--daemon'] } })).then(
    () => '',
    (error: unknown) => String(error),
  );
}

async function registered(): Promise<string[]> {
  const kinds = 'mutatingwebhookconfigurations,validatingwebhookconfigurations';
  return (await cluster.kubectl(['get', kinds, '-o', 'name'])).split('\n').filter(Boolean);
}

const isJudged = (said: string) => said.includes('spec.memcached.extraArgs');

test('registered while it runs', async ({ signal }) => {
  expect(await refusal()).toBe('');
  const operator = await Operator.start(kubeconfig, signal, LOCAL);
  expect(await registered()).toHaveLength(2);
  await eventually('it is asked', refusal, isJudged, signal);
  const token = await newAccount(cluster, 'careful');
  await letRead(cluster, 'careful');
  const page = async () => parsed((await scrape(operator.metricsPort, { token })).text, signal);
  const metric = 'memcached_operator_webhook_certificate_expiry_timestamp_seconds';
  const isTold = (seen: Family[]) => valueOf(seen, metric) !== undefined;
  const days = (valueOf(await eventually('its end is told', page, isTold, signal), metric) ?? 0) / 86_400;
  expect(Math.round(days - Date.now() / 86_400_000)).toBe(365);
  await operator.stop();
  expect(await registered()).toEqual([]);
  await eventually('it is not asked', refusal, (said) => said === '', signal);
});

test('what a killed one left is replaced by the next, and removed by make undeploy', async ({ signal }) => {
  const killed = await Operator.start(kubeconfig, signal, LOCAL);
  await eventually('it is asked', refusal, isJudged, signal);
  await killed.kill();
  expect(await registered()).toHaveLength(2);
  expect(await refusal()).toContain('failed calling webhook');

  const next = await Operator.start(kubeconfig, signal, LOCAL);
  await eventually('the next one is asked', refusal, isJudged, signal);
  await next.kill();
  const env = { KUBECONFIG: kubeconfig, PATH: `${cluster.instance.directory}:${process.env['PATH']}` };
  expect(await deploy(['down', '--keep-crd'], { env, signal })).toMatchObject({ code: 0, stderr: '' });
  expect(await registered()).toEqual([]);
  await eventually('nobody is asked', refusal, (said) => said === '', signal);
  expect(await registered()).toEqual([]);
});

/** A directory that is swapped as the kubelet swaps a Secret. */
class Mount {
  readonly directory: string;
  readonly #place: string;
  #version = 0;

  constructor(place: string) {
    this.#place = place;
    this.directory = path.join(place, 'mount');
  }

  async write({ certificate, key }: CertifiedKey): Promise<void> {
    const version = await mkdtemp(path.join(this.#place, `${this.#version++}-`));
    await writeFile(path.join(version, 'tls.crt'), certificate);
    await writeFile(path.join(version, 'tls.key'), key);
    await symlink(version, `${this.directory}-new`);
    await rename(`${this.directory}-new`, this.directory);
  }
}

function issued(host: string): { authority: CertifiedKey; pair: CertifiedKey } {
  const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
  const authority = createCertificate({ subject: 'somebody else', ...validity, isAuthority: true });
  return { authority, pair: createCertificate({ subject: 'us', ipAddresses: [host], ...validity, issuer: authority }) };
}

test('a mounted certificate is served, and a new one as soon as it is there', async ({ signal }) => {
  const place = await mkdtemp(path.join(tmpdir(), 'mounted-'));
  onTestFinished(() => rm(place, { recursive: true }));
  const { host } = addresses(cluster.instance);
  const mount = new Mount(place);
  const port = await freePort();
  const flags = [
    '--enable-webhooks',
    '--webhook-bind-address',
    `${host}:${port}`,
    '--webhook-cert-dir',
    mount.directory,
  ];

  const complaint = `--webhook-cert-dir: ${mount.directory}/tls.crt cannot be read`;
  await expect(Operator.start(kubeconfig, signal, flags)).rejects.toThrow(complaint);

  const trust = async ({ authority }: ReturnType<typeof issued>) => {
    for (const registration of registrations) {
      const caBundle = Buffer.from(authority.certificate).toString('base64');
      const url = `https://${host}:${port}${registration.path}`;
      const configuration = configurationFor(registration, 'memcached-operator-local', { url, caBundle });
      await client.apply(registration.kind, configuration, { fieldManager: 'test', force: true });
    }
  };
  const first = issued(host);
  await mount.write(first.pair);
  await trust(first);
  const operator = await Operator.start(kubeconfig, signal, flags);
  await eventually('it is asked', refusal, isJudged, signal);

  const second = issued(host);
  await mount.write(second.pair);
  await trust(second);
  const since = performance.now();
  await eventually('the new one is trusted', refusal, isJudged, signal);
  console.log(`a new certificate was served after ${Math.round(performance.now() - since)} ms`);
  await operator.stop();
  for (const registration of registrations)
    await client.delete(registration.kind, configurationName('memcached-operator-local', registration), undefined);
});
