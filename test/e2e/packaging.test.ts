/** The operator as it is released: upgraded from earlier manifests, taken over by Helm, disturbed, held to one namespace, removed. */
import { readdirSync, readFileSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { buildImage } from '../../deploy/image.ts';
import { writeInstallFile } from '../../deploy/install-file.ts';
import { run } from '../../devcluster/command.ts';
import { kubeconfigOf } from '../../devcluster/instance.ts';
import { load } from '../../devcluster/load.ts';
import { programPath } from '../../devcluster/programs.ts';
import { type Memcached, memcachedKind } from '../../src/api/index.ts';
import { deploymentKind, MANAGED_SELECTOR } from '../../src/children/index.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { type Client, isNotFound } from '../../src/runtime/client/index.ts';
import { eventually, ROOT, startCluster, stopCluster, type TestCluster } from '../support/cluster.ts';
import { operatorPods, SYSTEM, untilAdmitting, untilDeployed } from '../support/deployed.ts';
import { blocksOf, commandsOf } from '../support/documentation.ts';
import { prepareForExamples } from '../support/example-surroundings.ts';
import { CHART, helm, RELEASE } from '../support/helm.ts';
import { administrator, isReady, isUpToDate, memcached } from '../support/memcacheds.ts';
import { OPERATOR_NAMESPACE, OPERATOR_USER } from '../support/operator.ts';
import { needPrograms } from '../support/programs.ts';

vi.setConfig({ testTimeout: 600_000 });

const CLUSTER = { name: 'test-packaging', form: 'real' } as const;
const IMAGE = 'ghcr.io/c5c3/memcached-operator';
const CACHES = Array.from({ length: 20 }, (_, index) => `cache-${index}`);
const FRUGAL = { replicas: 1, resources: { requests: { cpu: '1m', memory: '16Mi' } } };

let cluster: TestCluster;
let client: Client;
let work: string;

needPrograms('helm');

beforeAll(async () => {
  const { signal } = new AbortController();
  work = await mkdtemp(path.join(tmpdir(), 'packaging-'));
  await stopCluster(CLUSTER);
  cluster = await startCluster(CLUSTER);
  client = await administrator(cluster);
  for (const tag of ['v0.0.1', 'latest']) {
    const archive = path.join(work, 'image.tar');
    await buildImage(`${IMAGE}:${tag}`, archive, { signal, output: process.stdout });
    await load(cluster.instance, { archive, signal });
  }
});

afterAll(async () => {
  await client?.close();
  await stopCluster(CLUSTER);
  await rm(work, { recursive: true, force: true });
});

const get = (name: string, namespace = 'default') => client.get<Memcached>(memcachedKind, name, namespace);
const all = async () => (await client.list<Memcached>(memcachedKind, { namespace: 'default' })).items;

/** The pods of those caches: which they are, and how often they were started. */
async function servers(): Promise<string[]> {
  const text = await cluster.kubectl(['get', 'pods', '-l', MANAGED_SELECTOR, '-o', 'json']);
  const { items } = JSON.parse(text) as {
    items: { metadata: { name: string; uid: string }; status: { containerStatuses: { restartCount: number }[] } }[];
  };
  const ours = items.filter(({ metadata }) => metadata.name.startsWith('cache-')); // others come and go
  const lines = ours.map(({ metadata, status }) => {
    const restarts = status.containerStatuses.map(({ restartCount }) => restartCount).join();
    return `${metadata.name} ${metadata.uid} ${restarts}`;
  });
  return lines.toSorted();
}

/** Changes something about each cache that needs no new pods, and waits until the operator has carried it out. */
async function touchAll(note: string, signal: AbortSignal): Promise<void> {
  const body = { spec: { service: { annotations: { note } } } };
  for (const name of CACHES) await client.patch(memcachedKind, name, 'default', { type: 'merge', body });
  const isDone = (list: readonly Memcached[]) => list.every((one) => isReady(one));
  await eventually(`all know of ${note}`, all, isDone, signal);
}

test('an upgrade from earlier manifests restarts no server', async ({ signal }) => {
  const earlier = path.join(import.meta.dirname, 'manifests/earlier-version.yaml');
  await cluster.kubectl(['apply', '--server-side', '-f', earlier]);
  await untilDeployed(cluster, signal);
  await untilAdmitting(cluster, signal);
  for (const name of CACHES) await client.create(memcachedKind, memcached(name, FRUGAL));
  const areReady = (list: readonly Memcached[]) => list.length === CACHES.length && list.every((one) => isReady(one));
  await eventually('all caches are ready', all, areReady, signal);
  const [before, operators] = [await servers(), await operatorPods(cluster)];
  expect(before).toHaveLength(CACHES.length);

  const file = path.join(work, 'install.yaml');
  await writeInstallFile(file, { image: `${IMAGE}:latest`, signal, output: process.stdout });
  await cluster.kubectl(['apply', '--server-side', '-f', file]);
  await untilDeployed(cluster, signal);
  await untilAdmitting(cluster, signal);
  expect(new Set(await operatorPods(cluster)).isDisjointFrom(new Set(operators))).toBe(true);
  await touchAll('upgraded', signal);
  expect(await servers()).toEqual(before);
});

/** The verdict of `kubectl auth can-i`, which fails when it is no. */
async function canI(user: string, question: string): Promise<string> {
  const asked = cluster.kubectl(['auth', 'can-i', ...question.split(' '), `--as=${user}`]);
  const said = await asked.catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
  return `${question}: ${said.trim().split('\n').at(-1) ?? ''}`;
}

const answers = (user: string, questions: readonly string[]) =>
  Promise.all(questions.map((question) => canI(user, question)));

const FORBIDDEN = [
  'create pods',
  'delete pods',
  'create pods/exec',
  'get pods/log',
  'create secrets -n default',
  'patch secrets -n default',
  'delete secrets -n default',
  'patch secrets/other -n memcached-operator-system',
  'get configmaps',
  'list configmaps',
  'create serviceaccounts',
  'create serviceaccounts/token',
  'impersonate users',
  'create roles',
  'create rolebindings',
  'create clusterroles -A',
  'bind clusterroles -A',
  'escalate clusterroles -A',
  'create clusterrolebindings -A',
  'get nodes -A',
  'create namespaces -A',
  'delete namespaces -A',
  'create memcacheds',
  'delete memcacheds',
  'patch customresourcedefinitions/memcacheds.memcached.c5c3.io -A',
  'get customresourcedefinitions/memcacheds.memcached.c5c3.io -A',
  'list customresourcedefinitions/certificates.cert-manager.io -A',
  'patch validatingwebhookconfigurations/other -A',
  'delete validatingwebhookconfigurations/memcached-operator-validating-webhook-configuration -A',
  'get leases -n kube-system',
  'create statefulsets',
  'create persistentvolumeclaims',
  'get /metrics',
  '* *',
];

/** What it may do with Secrets: watch their metadata, and read those that Memcacheds name. RBAC knows no finer words. */
const ALLOWED = [
  'get secrets -n default',
  'create deployments -n default',
  'patch memcacheds/status -n default',
  'create secrets -n memcached-operator-system',
];

test('the operator may not do what it has no need to', async () => {
  expect(await answers(OPERATOR_USER, FORBIDDEN)).toEqual(FORBIDDEN.map((question) => `${question}: no`));
  expect(await answers(OPERATOR_USER, ALLOWED)).toEqual(ALLOWED.map((question) => `${question}: yes`));
});

test('who may view, edit or administer a namespace, may do so with its Memcacheds', async ({ signal }) => {
  const may = { view: 'get', edit: 'get create patch delete', admin: 'get create patch delete' };
  for (const role of Object.keys(may))
    await cluster.kubectl(['create', 'rolebinding', role, `--clusterrole=${role}`, `--user=${role}`]);
  for (const [role, verbs] of Object.entries(may)) {
    const questions = ['get', 'create', 'patch', 'delete'].map((verb) => `${verb} memcacheds -n default`);
    const expected = questions.map(
      (question) => `${question}: ${verbs.includes(question.split(' ')[0] ?? '') ? 'yes' : 'no'}`,
    );
    const look = () => answers(role, questions); // Kubernetes puts roles together in its own time
    await eventually(`${role} may`, look, (seen) => seen.join() === expected.join(), signal);
  }
  expect(await answers('view', ['update memcacheds/scale -n default'])).toEqual([
    'update memcacheds/scale -n default: no',
  ]);
});

/** Helm with the administrator's rights, in the operator's namespace. */
function inCluster(command: string, args: readonly string[], signal: AbortSignal): Promise<string> {
  const place = ['--kubeconfig', kubeconfigOf(cluster.instance), '--namespace', OPERATOR_NAMESPACE];
  return helm([command, RELEASE, ...args, ...place, '--wait', '--timeout', '8m'], signal);
}

const SETTINGS = ['--set', 'image.tag=latest'];

test('Helm takes over what kubectl has installed, and nobody notices', async ({ signal }) => {
  const [before, operators] = [await servers(), await operatorPods(cluster)];
  const said = await inCluster('install', [CHART, ...SETTINGS, '--take-ownership'], signal);
  expect(said).toContain('looks after Memcacheds in all namespaces');
  expect(new Set(await operatorPods(cluster))).toEqual(new Set(operators));
  expect(await servers()).toEqual(before);
});

/** One needs five nodes, and one shows what only an operator without webhooks lets pass. */
const OTHERS = ['prod-cache.yaml', 'budget-default.yaml'];
const EXAMPLES = readdirSync(path.join(ROOT, 'examples'))
  .filter((name) => !OTHERS.includes(name))
  .map((name) => path.join(ROOT, 'examples', name));

test('each example becomes ready', async ({ signal }) => {
  await prepareForExamples(cluster);
  const found = EXAMPLES.map((file) => ({ file, ...(parse(readFileSync(file, 'utf8')) as Memcached) }));
  // Several have the same name: each of them changes what the last one made.
  const sequences = Object.values(Object.groupBy(found, ({ metadata }) => metadata.name));
  const apply = async ({ file, metadata }: (typeof found)[number]) => {
    await cluster.kubectl(['apply', '-f', file], { signal });
    const look = () => get(metadata.name, metadata.namespace);
    expect(isReady(await eventually(`${file} is ready`, look, isReady, signal))).toBe(true);
  };
  await Promise.all(
    sequences.map(async (sequence = []) => {
      for (const example of sequence) await apply(example);
    }),
  );
  await cluster.kubectl(['delete', '--ignore-not-found', ...EXAMPLES.flatMap((file) => ['-f', file])], { signal });
});

test('the commands of the documentation that need servers work', async ({ signal }) => {
  const directory = await mkdtemp(path.join(work, 'reader-'));
  const env = {
    KUBECONFIG: kubeconfigOf(cluster.instance),
    PATH: `${path.dirname(programPath('kubectl'))}:/usr/bin:/bin`,
  };
  const type = (script: string) => run('bash', ['-c', script], { cwd: directory, env, signal });

  const quickStart = 'docs/quick-start.md';
  await writeFile(path.join(directory, 'my-cache.yaml'), blocksOf(quickStart, 'yaml')[0] ?? '');
  const block = (word: string) => blocksOf(quickStart, 'sh').find((one) => one.includes(word)) ?? '';
  expect(await type(block('apply -f'))).toContain('AllReplicasReady');
  expect(await type(block('port-forward'))).toMatch(/STORED\s+VALUE hello 0 5\s+world\s+END/);

  await cluster.kubectl(['patch', 'mc', 'my-cache', '--type=merge', '-p', '{"spec":{"monitoring":{"enabled":true}}}']);
  await eventually('it has exporters', () => get('my-cache'), isReady, signal);
  const pods = () => cluster.kubectl(['get', 'pods', '-l', 'app.kubernetes.io/instance=my-cache', '-o', 'name']);
  await eventually('earlier servers are gone', pods, (seen) => seen.trim().split('\n').length === 3, signal);
  const commands = ['docs/troubleshooting.md', 'docs/conditions.md', 'docs/runbooks.md'].flatMap(commandsOf);
  const asking = commands.filter((command) => / (logs|wait) /.test(command) && !command.includes('--previous')); // no container has crashed
  expect(asking.length).toBeGreaterThan(5);
  for (const command of asking) await type(command.replace(/ \| grep .*$/, '')); // which fails when there is nothing to find
  const [forward = '', ...others] = commands.filter((command) => command.includes(' port-forward '));
  expect(others).toEqual([]);
  const read = String.raw`until exec 3<>/dev/tcp/localhost/9150; do sleep 1; done 2>/dev/null
    printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3; cat <&3; kill %1`;
  expect(await type(`${forward} & ${read}`)).toMatch(/^memcached_up 1$/m);
  await cluster.kubectl(['delete', 'mc', 'my-cache'], { signal });
});

/** Creates a Memcached every second until it is enough. */
async function createUntil(enough: AbortSignal, signal: AbortSignal) {
  const [names, errors]: [string[], string[]] = [[], []];
  for (; !enough.aborted; await sleep(1000, undefined, { signal })) {
    const name = `steady-${names.length}`;
    names.push(name);
    const object = memcached(name, { replicas: 0 });
    await client.create(memcachedKind, object).catch((error: unknown) => errors.push(`${name}: ${String(error)}`));
  }
  return { names, errors };
}

test("the operator's pods are deleted one by one, a Memcached is created every second, and none is lost", async ({
  signal,
}) => {
  const enough = new AbortController();
  const creating = createUntil(enough.signal, signal);
  for (const pod of await operatorPods(cluster)) {
    await cluster.kubectl([...SYSTEM, 'delete', 'pod', pod, '--timeout=120s'], { signal });
    await untilDeployed(cluster, signal);
  }
  enough.abort();
  const { names, errors } = await creating;
  console.log(`${names.length} Memcacheds were created while both pods were replaced`);
  expect(errors).toEqual([]);
  const made = async () => {
    const deployments = await client.list<KubernetesObject>(deploymentKind, { namespace: 'default' });
    return new Set(deployments.items.map(({ metadata }) => metadata.name));
  };
  await eventually('none is lost', made, (seen) => names.every((name) => seen.has(name)), signal);
  await cluster.kubectl(['delete', 'mc', ...names], { signal });
});

/** The chart of a later version: its definition shows one more column. */
async function laterChart(): Promise<string> {
  const chart = path.join(work, 'memcached-operator');
  await cp(CHART, chart, { recursive: true });
  const file = path.join(chart, 'files/crd.yaml');
  const crd = parse(await readFile(file, 'utf8')) as { spec: { versions: { additionalPrinterColumns: object[] }[] } };
  crd.spec.versions[0]?.additionalPrinterColumns.push({
    name: 'Later',
    type: 'integer',
    jsonPath: '.metadata.generation',
  });
  await writeFile(file, stringify(crd, { aliasDuplicateObjects: false }));
  return chart;
}

test('Helm upgrades the definition, and holds the operator to one namespace', async ({ signal }) => {
  const before = await servers();
  const settings = [...SETTINGS, '--set', 'watchNamespaces={default},networkPolicy.enabled=true'];
  await inCluster('upgrade', [await laterChart(), ...settings], signal);
  expect(await cluster.kubectl(['get', 'mc'])).toContain('LATER');

  await cluster.kubectl(['create', 'namespace', 'elsewhere']);
  // Nobody is asked about it there, so it is not refused either.
  const broken = { ...FRUGAL, memcached: { maxMemoryMB: 64, maxItemSize: '700k' } };
  await client.create(memcachedKind, memcached('ignored', broken, { namespace: 'elsewhere' }));
  await expect(client.create(memcachedKind, memcached('refused', broken))).rejects.toThrow('maxItemSize');
  await touchAll('in-one-namespace', signal);
  expect(await servers()).toEqual(before);
  const connected = ({ status }: Memcached) => status?.memcachedVersion !== undefined && status.memcachedVersion !== '';
  await client.create(memcachedKind, memcached('managed', FRUGAL));
  await eventually(
    'managed is ready and asked',
    () => get('managed'),
    (one) => isReady(one) && connected(one),
    signal,
  );
  expect((await get('ignored', 'elsewhere')).status).toBeUndefined();
  await expect(client.get(deploymentKind, 'ignored', 'elsewhere')).rejects.toSatisfy(isNotFound);
  const questions = ['get secrets', 'list memcacheds', 'create deployments'];
  const inside = questions.map((question) => `${question} -n default`);
  const outside = questions.map((question) => `${question} -n elsewhere`);
  expect(await answers(OPERATOR_USER, inside)).toEqual(inside.map((question) => `${question}: yes`));
  expect(await answers(OPERATOR_USER, outside)).toEqual(outside.map((question) => `${question}: no`));
});

test('uninstalled by Helm, the operator is gone, and Memcacheds with their servers go on', async ({ signal }) => {
  const before = await servers();
  await inCluster('uninstall', [], signal);
  const kinds =
    'clusterroles,clusterrolebindings,roles,rolebindings,services,deployments,pdb,networkpolicies,mutatingwebhookconfigurations,validatingwebhookconfigurations';
  const look = () =>
    cluster.kubectl([
      'get',
      kinds,
      '--all-namespaces',
      '-l',
      'app.kubernetes.io/name=memcached-operator',
      '-o',
      'name',
    ]);
  await eventually('nothing is left', look, (seen) => seen === '', signal);
  // That of the certificate is the operator's own, and goes with the webhooks that it is for.
  const secrets = () => cluster.kubectl(['get', 'secrets', '--namespace', 'memcached-operator-system', '-o', 'name']);
  await eventually('no Secret is left', secrets, (seen) => seen === '', signal);
  expect(await servers()).toEqual(before);
  expect((await all()).every((one) => isUpToDate(one))).toBe(true);
  await cluster.kubectl(['annotate', 'mc', '--all', 'nobody=answers']); // and nobody has to
});

test('installed by Helm again, it goes on where it was; and where nothing was, it begins', async ({ signal }) => {
  const before = await servers();
  await inCluster('install', [CHART, ...SETTINGS], signal); // the definition had stayed
  await touchAll('installed again', signal);
  expect(await servers()).toEqual(before);

  await inCluster('uninstall', [], signal);
  const crd = 'crd/memcacheds.memcached.c5c3.io';
  await cluster.kubectl(['delete', crd, `namespace/${OPERATOR_NAMESPACE}`, '--timeout=300s'], { signal });
  await inCluster('install', [CHART, ...SETTINGS, '--create-namespace'], signal);
  await client.create(memcachedKind, memcached('first', FRUGAL));
  const first = await eventually('the first one is ready', () => get('first'), isReady, signal);
  expect(isReady(first)).toBe(true);
});
