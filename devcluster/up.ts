/** Brings a cluster up, or back to what it should be: every step first looks at what is there already. */
import { Resolver } from 'node:dns/promises';
import { readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { get, kubectl } from './api.ts';
import { ensureCertificates } from './certificates.ts';
import { dns, networkPolicies, PERMISSIONS, proxy, proxyHealth } from './cluster-services.ts';
import {
  apiserver,
  type ControlPlaneOptions,
  controllerManager,
  etcd,
  scheduler,
  writeControlPlaneFiles,
} from './control-plane.ts';
import { destroy } from './down.ts';
import { fakeNodes, kwok } from './fake-nodes.ts';
import { ensurePackages, requireGo, requireRoot, requireSpace } from './host.ts';
import { type ImagePart, images } from './images/index.ts';
import { addresses, claimInstance, type Instance, type NodeForm, orphans } from './instance.ts';
import { withLock } from './lock.ts';
import { ensureNetwork } from './namespaces.ts';
import { importImages, isContainerdReady, NODE_NAMES, type Node, prepareNode } from './node.ts';
import { cacheDirectory, isBuilt, type Part } from './parts.ts';
import { Problem } from './problem.ts';
import { ensureRunning, type Process, waitUntil } from './processes.ts';
import { type ProgramName, programPart, programPath } from './programs.ts';
import { buildMissing, type ProgressOutput } from './progress.ts';

export interface UpOptions extends ControlPlaneOptions {
  /** The directory that holds the instances' directories: the clone. */
  readonly root: string;
  readonly name: string;
  readonly form: NodeForm;
  readonly fakeNodes: number;
  readonly signal: AbortSignal;
  readonly output: ProgressOutput;
}

const CONTROL_PLANE: readonly ProgramName[] = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubectl',
];
const REAL_NODE: readonly ProgramName[] = [
  'kubelet',
  'containerd',
  'containerd-shim-runc-v2',
  'ctr',
  'coredns',
  'kube-proxy',
  'kube-network-policies',
];

export async function up(options: UpOptions): Promise<Instance> {
  requireRoot();
  const say = (line: string) => options.output.write(`${line}\n`);
  await ensurePackages(options.signal, say);
  const nodeImages = options.form === 'real' ? images(programPart('memcached_exporter')) : [];
  await ensureBuilt([...programsOf(options.form).map(programPart), ...nodeImages], options);
  await requireSpace(options.root, 'start');
  for (const orphan of await orphans()) {
    say(`removing what is left of ${orphan.directory}, which was deleted`);
    await destroy(orphan);
  }
  const instance = await claimInstance(options.root, options.name);
  await withLock(`instance/${instance.id}`, () => start(instance, nodeImages, options), {
    signal: options.signal,
    onWait: () => say(`waiting for another process that is starting or stopping "${instance.name}"`),
  });
  return instance;
}

function programsOf(form: NodeForm): readonly ProgramName[] {
  if (form === 'real') return [...CONTROL_PLANE, ...REAL_NODE];
  return form === 'fake' ? [...CONTROL_PLANE, 'kwok'] : CONTROL_PLANE;
}

/** Builds what is missing, having checked that it can be built. */
export async function ensureBuilt(
  parts: readonly Part[],
  { signal, output }: Pick<UpOptions, 'signal' | 'output'>,
): Promise<void> {
  const built = await Promise.all(parts.map(isBuilt));
  if (built.includes(false)) {
    await requireGo();
    await requireSpace(cacheDirectory(), 'build');
  }
  await buildMissing(parts, signal, output);
}

async function start(instance: Instance, nodeImages: readonly ImagePart[], options: UpOptions): Promise<void> {
  const { form, signal } = options;
  const since = performance.now();
  await rememberForm(instance, form);
  await ensureNetwork(instance, NODE_NAMES.length);
  await ensureCertificates(instance, NODE_NAMES);
  await writeControlPlaneFiles(instance);
  const run = async (...processes: Process[]) => {
    for (const process of processes) {
      if ((await ensureRunning(instance, process)) === 'started') options.output.write(`  started ${process.name}\n`);
    }
  };
  await run(etcd(instance), apiserver(instance, options));
  const containers = form === 'real' ? startContainers(instance, nodeImages, run, signal) : undefined;
  containers?.catch(() => {}); // awaited below; a failure meanwhile must not count as unhandled
  await waitUntil('kube-apiserver is ready', async () => (await get(instance, '/readyz')) === 'ok', {
    instance,
    processes: ['etcd', 'kube-apiserver'],
    signal,
  });
  await run(controllerManager(instance, options), scheduler(instance, options));
  if (containers) await startNodes(instance, containers, run, signal);
  if (form === 'fake') {
    await run(kwok(instance));
    await kubectl(instance, ['apply', '--server-side', '-f', '-'], fakeNodes(options.fakeNodes), signal);
    await nodesReady(instance, options.fakeNodes, ['kwok'], signal);
  }
  await waitUntil(
    'the namespace "default" has its service account',
    async () => (await get(instance, DEFAULT_ACCOUNT)) !== undefined,
    {
      instance,
      processes: ['kube-apiserver', 'kube-controller-manager'],
      signal,
    },
  );
  await linkKubectl(instance);
  options.output.write(
    `cluster "${instance.name}" is ready after ${((performance.now() - since) / 1000).toFixed(1)} s\n`,
  );
}

const DEFAULT_ACCOUNT = '/api/v1/namespaces/default/serviceaccounts/default';

type Run = (...processes: Process[]) => Promise<void>;

/** containerd needs no API: it starts, and takes in its images, while the control plane starts. */
async function startContainers(
  instance: Instance,
  nodeImages: readonly ImagePart[],
  run: Run,
  signal: AbortSignal,
): Promise<Node[]> {
  const [pause] = nodeImages;
  if (!pause) throw new Error('a real node needs images');
  return Promise.all(
    NODE_NAMES.map(async (name) => {
      const node = await prepareNode(instance, name, pause.reference);
      await run(node.containerd);
      await waitUntil(`containerd of ${name} answers`, () => isContainerdReady(node), {
        instance,
        processes: [node.containerd.name],
        signal,
      });
      await importImages(instance, node, nodeImages, signal);
      return node;
    }),
  );
}

async function startNodes(
  instance: Instance,
  containers: Promise<Node[]>,
  run: Run,
  signal: AbortSignal,
): Promise<void> {
  await kubectl(instance, ['apply', '--server-side', '-f', '-'], PERMISSIONS, signal);
  const [first] = NODE_NAMES;
  if (!first) throw new Error('there is no first node');
  await run(await dns(instance), await proxy(instance, first), await networkPolicies(instance, first));
  const nodes = await containers;
  await run(...nodes.map(({ kubelet }) => kubelet));
  await nodesReady(
    instance,
    nodes.length,
    nodes.flatMap(({ containerd, kubelet }) => [containerd.name, kubelet.name]),
    signal,
  );
  await waitUntil('CoreDNS answers', () => answersDns(instance), { instance, processes: ['coredns'], signal });
  await waitUntil('kube-proxy has its rules', () => isProxyHealthy(instance), {
    instance,
    processes: ['kube-proxy'],
    signal,
  });
}

async function nodesReady(
  instance: Instance,
  count: number,
  processes: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const check = async () => {
    const body = await get(instance, '/api/v1/nodes');
    const list = body === undefined ? { items: [] } : (JSON.parse(body) as NodeList);
    const ready = list.items.filter(({ status }) =>
      status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'),
    );
    return ready.length >= count;
  };
  await waitUntil(`${count} nodes are Ready`, check, { instance, processes: ['kube-apiserver', ...processes], signal });
}

interface NodeList {
  readonly items: readonly {
    readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
  }[];
}

async function answersDns(instance: Instance): Promise<boolean> {
  const resolver = new Resolver({ timeout: 1000, tries: 1 });
  resolver.setServers([addresses(instance).dns]);
  return resolver.resolve4('kubernetes.default.svc.cluster.local').then(
    () => true,
    () => false,
  );
}

async function isProxyHealthy(instance: Instance): Promise<boolean> {
  return fetch(`http://${proxyHealth(instance)}/healthz`).then(
    (response) => response.ok,
    () => false,
  );
}

/** An instance keeps its form: half of another one would be left running otherwise. */
async function rememberForm(instance: Instance, form: NodeForm): Promise<void> {
  const file = path.join(instance.directory, 'form');
  const known = await readFile(file, 'utf8').catch(() => form);
  if (known !== form) {
    throw new Problem(
      `The cluster "${instance.name}" was started with NODE=${known}.`,
      `Use it as it is, remove it first with \`make cluster-down\`, or start another one beside it with NAME=<other name> NODE=${form}.`,
    );
  }
  await writeFile(file, form);
}

/** For people whose machine has no kubectl. */
async function linkKubectl(instance: Instance): Promise<void> {
  const link = path.join(instance.directory, 'kubectl');
  await rm(link, { force: true });
  await symlink(programPath('kubectl'), link);
}
