/** The order in which a cluster comes up. Every step first looks at what is there, so that a second start heals the first. */
import { kubectl } from './api.ts';
import { ensureCertificates } from './certificates.ts';
import { dns, networkPolicies, PERMISSIONS, proxy } from './cluster-services.ts';
import { apiserver, type ControlPlaneOptions, controllerManager, etcd, scheduler } from './control-plane.ts';
import { fakeNodes, kwok } from './fake-nodes.ts';
import type { ImagePart } from './images/index.ts';
import type { NodeForm } from './instance.ts';
import type { Launch } from './launch.ts';
import { ensureNetwork } from './namespaces.ts';
import { importImages, isContainerdReady, NODE_NAMES, type Node, prepareNode } from './node.ts';
import { answersDns, areNodesReady, isApiReady, isProxyHealthy, takesPods } from './readiness.ts';

export interface ClusterOptions extends ControlPlaneOptions {
  readonly form: NodeForm;
  /** How many nodes kwok simulates. */
  readonly fakeNodes: number;
}

export async function start(launch: Launch, images: readonly ImagePart[], options: ClusterOptions): Promise<void> {
  const { instance } = launch;
  await ensureNetwork(instance, NODE_NAMES.length);
  await ensureCertificates(instance, NODE_NAMES);
  await launch.run(etcd(instance), apiserver(instance, options));
  const [, nodes] = await Promise.all([
    startControllers(launch, options),
    // containerd needs no API: it takes in its images while the control plane starts.
    options.form === 'real' ? startContainers(launch, images) : [],
  ]);
  if (options.form === 'real') await startNodes(launch, nodes);
  if (options.form === 'fake') await startFakeNodes(launch, options.fakeNodes);
  if (options.form === 'none') return; // nobody waits for pods that could not run
  await launch.until('pods can be created', ['kube-apiserver', 'kube-controller-manager'], () => takesPods(instance));
}

async function startControllers(launch: Launch, options: ClusterOptions): Promise<void> {
  const { instance } = launch;
  await launch.until('kube-apiserver is ready', ['etcd', 'kube-apiserver'], () => isApiReady(instance));
  await launch.run(controllerManager(instance, options), scheduler(instance, options));
}

async function startContainers(launch: Launch, images: readonly ImagePart[]): Promise<Node[]> {
  const { instance, signal } = launch;
  const nodes: Node[] = [];
  // One after another: two at once would mount over each other.
  for (const name of NODE_NAMES) nodes.push(await prepareNode(instance, name, images));
  await launch.run(...nodes.map(({ containerd }) => containerd));
  await Promise.all(
    nodes.map(async (node) => {
      await launch.until(`containerd of ${node.name} answers`, [node.containerd.name], () => isContainerdReady(node));
      await importImages(instance, node, images, signal);
    }),
  );
  return nodes;
}

async function startNodes(launch: Launch, nodes: readonly Node[]): Promise<void> {
  const { instance, signal } = launch;
  await kubectl(instance, ['apply', '--server-side', '-f', '-'], { input: PERMISSIONS, signal });
  const before = Date.now();
  const restarted = await launch.run(...nodes.map(({ kubelet }) => kubelet));
  const [{ name: first }] = nodes as [Node, ...Node[]];
  await launch.run(dns(instance), proxy(instance, first), await networkPolicies(instance, first));
  const needed = ['kube-apiserver', ...nodes.flatMap(({ containerd, kubelet }) => [containerd.name, kubelet.name])];
  await launch.until(`${nodes.length} nodes are Ready`, needed, () =>
    areNodesReady(instance, nodes.length, restarted ? before : 0),
  );
  await launch.until('CoreDNS answers', ['coredns'], () => answersDns(instance));
  await launch.until('kube-proxy has its rules', ['kube-proxy'], () => isProxyHealthy(instance));
}

async function startFakeNodes(launch: Launch, count: number): Promise<void> {
  const { instance, signal } = launch;
  await launch.run(kwok(instance));
  await kubectl(instance, ['apply', '--server-side', '-f', '-'], { input: fakeNodes(count), signal });
  await launch.until(`${count} simulated nodes are Ready`, ['kube-apiserver', 'kwok'], () =>
    areNodesReady(instance, count, 0),
  );
}
