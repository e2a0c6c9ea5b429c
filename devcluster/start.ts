/** The order in which a cluster comes up. Every step first looks at what is there, so that a second start heals the first. */
import { kubectl } from './api.ts';
import { ensureCertificates } from './certificates.ts';
import { dns, handConnectionsOver, networkPolicies, PERMISSIONS, proxy, QUEUE } from './cluster-services.ts';
import { containerd, importImages, isContainerdReady } from './containerd.ts';
import { apiserver, type ControlPlaneOptions, controllerManager, etcd, scheduler } from './control-plane.ts';
import { fakeNodes, kwok } from './fake-nodes.ts';
import type { ImagePart } from './images/index.ts';
import type { NodeForm } from './instance.ts';
import { kubelet } from './kubelet.ts';
import type { Launch } from './launch.ts';
import { ensureNetwork } from './namespaces.ts';
import { NODE_NAMES, type Node, prepareNode } from './node.ts';
import { isQueueServed, readyNodes, takesPods } from './readiness.ts';

export interface ClusterOptions extends ControlPlaneOptions {
  readonly form: NodeForm;
  /** How many nodes kwok simulates. */
  readonly fakeNodes: number;
}

export async function start(launch: Launch, images: readonly ImagePart[], options: ClusterOptions): Promise<void> {
  const { instance } = launch;
  await ensureNetwork(instance, NODE_NAMES.length);
  await ensureCertificates(instance, NODE_NAMES);
  await launch.run(etcd(instance));
  await launch.run(apiserver(instance, options));
  // containerd needs no API: it starts meanwhile.
  const nodes = options.form === 'real' ? await startContainers(launch) : [];
  await launch.untilHealthy();
  await launch.run(controllerManager(instance, options));
  await launch.run(scheduler(instance, options));
  if (options.form === 'real') await startNodes(launch, nodes, images);
  if (options.form === 'fake') await startFakeNodes(launch, options.fakeNodes);
  await launch.untilHealthy();
  if (options.form !== 'none') await launch.until('pods can be created', () => takesPods(instance));
}

async function startContainers(launch: Launch): Promise<Node[]> {
  const nodes: Node[] = [];
  for (const name of NODE_NAMES) {
    const node = await prepareNode(launch.instance, name);
    await launch.run(containerd(launch.instance, node));
    nodes.push(node);
  }
  return nodes;
}

async function startNodes(launch: Launch, nodes: readonly Node[], images: readonly ImagePart[]): Promise<void> {
  const { instance, signal } = launch;
  for (const node of nodes) {
    await launch.until(`containerd of ${node.name} answers`, () => isContainerdReady(node, signal));
    await importImages(node, images, signal);
  }
  await kubectl(instance, ['apply', '--server-side', '-f', '-'], { input: PERMISSIONS, signal });
  const since = Date.now();
  const restarted = new Set<string>();
  for (const node of nodes) if (await launch.run(kubelet(instance, node))) restarted.add(node.name);
  await launch.run(dns(instance));
  await launch.run(proxy(instance));
  await handConnectionsOver(instance);
  await launch.run(networkPolicies(instance));
  for (const { name } of nodes) {
    const fresh = restarted.has(name) ? since : 0;
    await launch.until(`${name} is Ready`, async () => (await readyNodes(instance, fresh)).includes(name));
  }
  await launch.until('NetworkPolicy is enforced', () => isQueueServed(instance, QUEUE));
}

async function startFakeNodes(launch: Launch, count: number): Promise<void> {
  const { instance, signal } = launch;
  await launch.run(kwok(instance));
  await kubectl(instance, ['apply', '--server-side', '-f', '-'], { input: fakeNodes(count), signal });
  await launch.until(`${count} simulated nodes are Ready`, async () => (await readyNodes(instance, 0)).length >= count);
}
