/** Clients that use servers as Keystone does, in a pod, and what has come of it. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { textOf } from '../../deploy/manifests.ts';
import type { CertifiedKey } from '../../src/runtime/certificates/certificate.ts';
import { eventually, ROOT } from './cluster.ts';
import type { Deployed } from './deployed.ts';
import { blocksOf } from './documentation.ts';

export const CLIENTS_IMAGE = process.env['E2E_CLIENTS_IMAGE'] || 'localhost/memcached-clients:1';
const PROGRAM = path.join(ROOT, 'test/e2e/keystone/token-cache.py');
const PROCESSES = 4;

/** All that the clients of a pod have seen since they were started. */
export interface Report {
  /** How often each process has reported. */
  readonly reports: readonly number[];
  readonly operations: number;
  readonly misses: number;
  readonly failed: readonly { readonly server: string; readonly error: string; readonly count: number }[];
  /** The longest call. */
  readonly slowestMs: number;
}

/** The first piece of that language on the page: what people are told to write. */
export function documented(page: string, language: string): string {
  const [piece] = blocksOf(page, language);
  if (piece === undefined) throw new Error(`${page} shows no ${language}`);
  return piece;
}

/** By which clients and servers know each other. */
export interface Papers extends CertifiedKey {
  readonly authority: string;
}

const TLS_SETTINGS = `tls_enabled = true
tls_cafile = /etc/keystone/ca.crt
tls_certfile = /etc/keystone/client.crt
tls_keyfile = /etc/keystone/client.key
`;

/** Starts clients of these servers, all else as the page about Keystone says. Resolves when they have begun. */
export async function startClients(
  at: Deployed,
  name: string,
  servers: readonly string[],
  papers?: Papers,
): Promise<void> {
  const text = documented('docs/keystone.md', 'ini');
  const settings = text.replace(/^memcache_servers = .*$/m, `memcache_servers = ${servers.join(',')}`);
  const metadata = { name, namespace: 'default' };
  const data = {
    'token-cache.py': await readFile(PROGRAM, 'utf8'),
    'keystone.conf': papers ? settings + TLS_SETTINGS : settings,
    ...(papers && { 'ca.crt': papers.authority, 'client.crt': papers.certificate, 'client.key': papers.key }),
  };
  const container = {
    name: 'clients',
    image: CLIENTS_IMAGE,
    command: ['python3', '/etc/keystone/token-cache.py', '/etc/keystone/keystone.conf', `${PROCESSES}`],
    volumeMounts: [{ name: 'keystone', mountPath: '/etc/keystone' }],
  };
  const spec = {
    // Far from the nodes that are drained.
    affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [OTHER_THAN_THE_FIRST] } },
    terminationGracePeriodSeconds: 0,
    containers: [container],
    volumes: [{ name: 'keystone', configMap: { name } }],
  };
  const objects = [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data },
    { apiVersion: 'v1', kind: 'Pod', metadata, spec },
  ];
  await at.kubectl(['apply', '-f', '-'], { input: textOf(objects) });
  await at.kubectl(['wait', '--for=condition=Ready', `pod/${name}`, '--timeout=180s']);
}

const OTHER_THAN_THE_FIRST = {
  weight: 100,
  preference: { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'NotIn', values: ['node-1'] }] },
};

export async function stopClients(at: Deployed, name: string): Promise<void> {
  await at.kubectl(['delete', 'pod,configmap', name, '--wait=false']);
}

/** What has happened up to this call and a moment longer: each process has finished something since. */
export async function report(at: Deployed, name: string, signal: AbortSignal): Promise<Report> {
  const first = await eventually('clients report', () => reportOf(at, name), Boolean, signal);
  const isNewer = (seen: Report | undefined) =>
    seen?.reports.every((count, index) => count >= (first?.reports[index] ?? 0) + 2) === true;
  return (await eventually('each client is at work', () => reportOf(at, name), isNewer, signal)) as Report;
}

/** Nothing before the first report. */
async function reportOf(at: Deployed, name: string): Promise<Report | undefined> {
  const line = (await at.kubectl(['logs', name, '--tail=1'])).trim();
  return line.startsWith('{') ? (JSON.parse(line) as Report) : undefined;
}

/** What has come between two reports. */
export function between(before: Report, after: Report) {
  const counted = new Map(before.failed.map(({ server, error, count }) => [`${server} ${error}`, count]));
  const failed = after.failed
    .map((one) => ({ ...one, count: one.count - (counted.get(`${one.server} ${one.error}`) ?? 0) }))
    .filter(({ count }) => count > 0);
  return { operations: after.operations - before.operations, misses: after.misses - before.misses, failed };
}
