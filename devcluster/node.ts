/** A real node: a containerd of its own and a kubelet, in one mount namespace. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';
import { kubeconfigFor, pkiFile } from './certificates.ts';
import { cgroupRoot, ensureCgroups } from './cgroups.ts';
import { run } from './command.ts';
import type { ImagePart } from './images/index.ts';
import { addresses, type Instance } from './instance.ts';
import { ensureMounts } from './namespaces.ts';
import { partDirectory } from './parts.ts';
import type { Process } from './processes.ts';
import { programPath } from './programs.ts';

export type NodeName = `node-${number}`;

export interface Node {
  readonly name: NodeName;
  readonly number: number;
  readonly mounts: string;
  readonly containerd: Process;
  readonly kubelet: Process;
}

export const NODE_NAMES: readonly NodeName[] = ['node-1', 'node-2'];

/** Inside the node's mount namespace this is the node's alone. */
const SOCKET = '/run/containerd/containerd.sock';

export async function prepareNode(instance: Instance, name: NodeName, images: readonly ImagePart[]): Promise<Node> {
  const [pause] = images;
  if (!pause) throw new Error('a node without a pause image starts no pod');
  const number = NODE_NAMES.indexOf(name) + 1;
  const file = (...names: string[]) => path.join(instance.directory, name, ...names);
  await ensureCgroups(instance, name);
  const mounts = await ensureMounts(instance, name);
  const address = addresses(instance).node(number);
  const programs = path.dirname(programPath('containerd-shim-runc-v2'));
  return {
    name,
    number,
    mounts,
    containerd: {
      name: `containerd-${number}`,
      program: programPath('containerd'),
      files: {
        [file('containerd.toml')]: containerdConfiguration(file, pause.reference),
        [file('cni', '10-pods.conflist')]: podNetwork(instance, number, file('addresses')),
      },
      listens: [],
      args: ['--config', file('containerd.toml')],
      env: { PATH: `${programs}:${process.env['PATH']}` },
      mounts,
    },
    kubelet: {
      name: `kubelet-${number}`,
      program: programPath('kubelet'),
      files: {
        [file('kubelet.yaml')]: kubeletConfiguration(instance, name, number, file),
        [file('resolv.conf')]: '', // pods ask the cluster's DNS only
      },
      listens: [`${address}:10250`, `${address}:10248`],
      args: [
        `--config=${file('kubelet.yaml')}`,
        `--kubeconfig=${kubeconfigFor(instance, name)}`,
        `--root-dir=${file('kubelet')}`,
        `--hostname-override=${name}`,
        `--node-ip=${address}`,
        `--node-labels=topology.kubernetes.io/zone=zone-${number}`,
      ],
      mounts,
    },
  };
}

/** Routed, not bridged: every packet between pods passes the firewall, where NetworkPolicy can see it. */
function podNetwork(instance: Instance, number: number, dataDir: string): string {
  const ipam = {
    type: 'host-local',
    dataDir,
    ranges: [[{ subnet: addresses(instance).podsOf(number) }]],
    routes: [{ dst: '0.0.0.0/0' }],
  };
  const plugins = [
    { type: 'ptp', ipMasq: false, ipam },
    { type: 'portmap', capabilities: { portMappings: true } },
  ];
  return JSON.stringify({ cniVersion: '1.0.0', name: instance.id, plugins }, undefined, 2);
}

function containerdConfiguration(file: (...names: string[]) => string, sandboxImage: string): string {
  return `version = 3
root = "${file('containerd')}"
state = "/run/containerd"
# They would make directories on the host that nobody asked for.
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri"]

[grpc]
  address = "${SOCKET}"

[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "${sandboxImage}"

[plugins.'io.containerd.cri.v1.runtime']
  # Where the capability to lower an OOM score is missing, no pod would start otherwise.
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ["/usr/lib/cni", "/opt/cni/bin"]
  conf_dir = "${file('cni')}"
[plugins.'io.containerd.cri.v1.runtime'.containerd]
  default_runtime_name = "runc"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  SystemdCgroup = false
`;
}

function kubeletConfiguration(
  instance: Instance,
  name: NodeName,
  number: number,
  file: (...names: string[]) => string,
): string {
  const { dns, node } = addresses(instance);
  return stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: node(number),
    healthzBindAddress: node(number),
    tlsCertFile: pkiFile(instance, `${name}.crt`),
    tlsPrivateKeyFile: pkiFile(instance, `${name}.key`),
    authentication: { x509: { clientCAFile: pkiFile(instance, 'ca.crt') } },
    authorization: { mode: 'Webhook' },
    containerRuntimeEndpoint: `unix://${SOCKET}`,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: cgroupRoot(instance, name),
    failCgroupV1: false,
    failSwapOn: false,
    oomScoreAdj: 0,
    localStorageCapacityIsolation: false,
    // The disk and the memory are those of the whole machine: what else fills them must not evict pods.
    evictionHard: {
      'memory.available': '0%',
      'nodefs.available': '0%',
      'nodefs.inodesFree': '0%',
      'imagefs.available': '0%',
    },
    imageGCHighThresholdPercent: 100, // an image that was collected could not be pulled again
    clusterDNS: [dns],
    clusterDomain: 'cluster.local',
    resolvConf: file('resolv.conf'),
    podLogsDir: file('pod-logs'),
    volumePluginDir: file('volume-plugins'),
    syncFrequency: '10s', // a changed Secret reaches its pods within seconds, not within a minute
    serializeImagePulls: false,
  });
}

/** Makes the images known to the node, unless it has that very build already. */
export async function importImages(
  instance: Instance,
  node: Node,
  images: readonly ImagePart[],
  signal: AbortSignal,
): Promise<void> {
  const record = path.join(instance.directory, node.name, 'images.json');
  const imported = JSON.parse(await readFile(record, 'utf8').catch(() => '{}')) as Record<string, string>;
  for (const image of images) {
    const build = partDirectory(image);
    if (imported[image.reference] === build) continue;
    const args = ['--namespace', 'k8s.io', 'images', 'import', '--local', path.join(build, 'image.tar')];
    await run('nsenter', [`--mount=${node.mounts}`, '--', programPath('ctr'), '--address', SOCKET, ...args], {
      signal,
    });
    imported[image.reference] = build;
    await writeFile(record, JSON.stringify(imported, undefined, 2));
  }
}

/** Whether containerd answers. */
export async function isContainerdReady(node: Node): Promise<boolean> {
  const args = [
    `--mount=${node.mounts}`,
    '--',
    programPath('ctr'),
    '--address',
    SOCKET,
    '--connect-timeout',
    '1s',
    'version',
  ];
  return run('nsenter', args).then(
    () => true,
    () => false,
  );
}
