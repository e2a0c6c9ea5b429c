/** The webhooks with a certificate of cert-manager, as config/cert-manager has it: trusted, renewed, and never in the way. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildImage } from '../../deploy/image.ts';
import { WITHOUT_PROXY } from '../../devcluster/command.ts';
import { kubeconfigOf } from '../../devcluster/instance.ts';
import { load } from '../../devcluster/load.ts';
import { withPortForward } from '../../devcluster/port-forward.ts';
import { logDirectory } from '../../devcluster/processes.ts';
import { programPath } from '../../devcluster/programs.ts';
import { memcachedKind } from '../../src/api/index.ts';
import type { Client } from '../../src/runtime/client/index.ts';
import { eventually, ROOT, startCluster, stopCluster, type TestCluster } from '../support/cluster.ts';
import { operatorPods, SYSTEM, untilDeployed } from '../support/deployed.ts';
import { administrator, memcached } from '../support/memcacheds.ts';
import { needPrograms } from '../support/programs.ts';

const CLUSTER = { name: 'test-cert-manager', form: 'real' } as const;
const PROGRAMS = ['cert-manager-controller', 'cert-manager-cainjector'] as const;
const SECRET = 'memcached-operator-webhook-cert-manager';

let cluster: TestCluster;
let client: Client;
const running: ChildProcess[] = [];

needPrograms(...PROGRAMS);

beforeAll(async () => {
  const { signal } = new AbortController();
  await stopCluster(CLUSTER);
  cluster = await startCluster(CLUSTER);
  client = await administrator(cluster);
  const work = await mkdtemp(path.join(tmpdir(), 'cert-manager-'));
  const archive = path.join(work, 'image.tar');
  await buildImage('ghcr.io/c5c3/memcached-operator:latest', archive, { signal, output: process.stdout });
  await load(cluster.instance, { archive, signal });
  await rm(work, { recursive: true });
  const crds = path.join(path.dirname(programPath('cert-manager-controller')), 'crds.yaml');
  await cluster.kubectl(['apply', '--server-side', '-f', crds]);
  await cluster.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=120s']);
  for (const name of PROGRAMS) {
    const flags = ['--kubeconfig', kubeconfigOf(cluster.instance), '--leader-elect=false'];
    const env = { ...process.env, ...WITHOUT_PROXY };
    const log = openSync(path.join(logDirectory(cluster.instance), `${name}.log`), 'w');
    running.push(spawn(programPath(name), flags, { env, stdio: ['ignore', log, log] }));
    closeSync(log);
  }
});

afterAll(async () => {
  for (const child of running) {
    child.kill();
    if (child.exitCode === null) await once(child, 'exit');
  }
  await client?.close();
  await stopCluster(CLUSTER);
});

const certificate = () => cluster.kubectl([...SYSTEM, 'get', 'secret', SECRET, '-o', 'jsonpath={.data.tls\\.crt}']);

const trusted = (kind: string) =>
  cluster.kubectl([
    'get',
    kind,
    '-l',
    'app.kubernetes.io/name=memcached-operator',
    '-o',
    'jsonpath={.items[0].webhooks[0].clientConfig.caBundle}',
  ]);

const broken = () => memcached('broken', { memcached: { maxMemoryMB: 64, maxItemSize: '700k' } });

test('the operator serves a certificate of cert-manager, and the API server trusts it', async ({ signal }) => {
  await cluster.kubectl(['apply', '--server-side', '-k', path.join(ROOT, 'config/cert-manager')]);
  await untilDeployed(cluster, signal);
  const refusal = () => client.create(memcachedKind, broken()).then(() => '', String);
  await eventually('webhooks answer', refusal, (said) => said.includes('maxItemSize'), signal);
  const authority = await cluster.kubectl([...SYSTEM, 'get', 'secret', SECRET, '-o', 'jsonpath={.data.ca\\.crt}']);
  expect(await trusted('mutatingwebhookconfigurations')).toBe(authority);
  expect(await trusted('validatingwebhookconfigurations')).toBe(authority);
  const own = ['get', 'secret', 'memcached-operator-webhook-certificate', '--ignore-not-found', '-o', 'name'];
  expect(await cluster.kubectl([...SYSTEM, ...own])).toBe('');
});

/** The certificate that a pod of the operator shows, in PEM form. */
function shownBy(pod: string, signal: AbortSignal): Promise<string> {
  const kubectl = [programPath('kubectl'), `--kubeconfig=${kubeconfigOf(cluster.instance)}`, ...SYSTEM] as const;
  const options = { kubectl, target: `pod/${pod}`, port: 9443, env: WITHOUT_PROXY, signal };
  return withPortForward(options, async (port) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
    try {
      await once(socket, 'secureConnect', { signal });
      return String(socket.getPeerX509Certificate());
    } finally {
      socket.destroy();
    }
  });
}

/** Creates Memcacheds until both pods show the certificate, and tells what went wrong meanwhile. */
async function createUntilShown(pem: string, signal: AbortSignal): Promise<string[]> {
  const errors: string[] = [];
  const shown = new AbortController();
  let count = 0;
  const creating = (async () => {
    for (; !shown.signal.aborted; await sleep(200, undefined, { signal })) {
      const object = memcached(`renewal-${count++}`, { replicas: 0 });
      await client.create(memcachedKind, object).catch((error: unknown) => errors.push(String(error)));
    }
  })();
  try {
    for (const pod of await operatorPods(cluster))
      await eventually(
        `${pod} shows it`,
        () => shownBy(pod, signal),
        (seen) => pem.startsWith(seen.trim()),
        signal,
      );
  } finally {
    shown.abort();
    await creating;
  }
  console.log(`${count} Memcacheds were created until both pods showed the new certificate`);
  return errors;
}

test('a new certificate is shown after a while, and nobody has to wait for it', async ({ signal }) => {
  const before = await certificate();
  const authority = await trusted('validatingwebhookconfigurations');
  await cluster.kubectl([...SYSTEM, 'delete', 'secret', SECRET]);
  const issued = await eventually('there is another', certificate, (now) => now !== '' && now !== before, signal);
  expect(await createUntilShown(Buffer.from(issued, 'base64').toString(), signal)).toEqual([]);
  expect(await trusted('validatingwebhookconfigurations')).toBe(authority);
});
