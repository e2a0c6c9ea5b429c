/** containerd: runs the containers of one node, and holds its images. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { environment, run } from './command.ts';
import { type ImagePart, imageFile, PAUSE } from './images/index.ts';
import { addresses, type Instance } from './instance.ts';
import { CONTAINERD_SOCKET, type Node, type NodeName } from './node.ts';
import { partDirectory } from './parts.ts';
import type { Process } from './processes.ts';
import { programPath } from './programs.ts';

/** What the process is called. */
export function containerdOf(node: NodeName): string {
  return `containerd-${node.replace('node-', '')}`;
}

export function containerd(instance: Instance, node: Node): Process {
  const shim = path.dirname(programPath('containerd-shim-runc-v2'));
  return {
    name: containerdOf(node.name),
    program: programPath('containerd'),
    args: ['--config', node.file('containerd.toml')],
    files: {
      [node.file('containerd.toml')]: configuration(node),
      [node.file('cni', '10-pods.conflist')]: podNetwork(instance, node),
    },
    listens: [],
    env: { PATH: `${shim}:${environment()['PATH']}` },
    mounts: node.mounts,
  };
}

/** Routed, not bridged: every packet between pods passes the firewall, where NetworkPolicy can see it. */
function podNetwork(instance: Instance, node: Node): string {
  const ipam = {
    type: 'host-local',
    dataDir: node.file('addresses'),
    ranges: [[{ subnet: addresses(instance).podsOf(node.number) }]],
    routes: [{ dst: '0.0.0.0/0' }],
  };
  const plugins = [
    { type: 'ptp', ipMasq: false, ipam },
    { type: 'portmap', capabilities: { portMappings: true } },
  ];
  return JSON.stringify({ cniVersion: '1.0.0', name: instance.id, plugins }, undefined, 2);
}

function configuration({ file }: Node): string {
  return `version = 3
root = "${file('containerd')}"
state = "/run/containerd"
# They would make directories on the host that nobody asked for.
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri"]

[grpc]
  address = "${CONTAINERD_SOCKET}"

[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "${PAUSE}"

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

/** Makes the images known to the node, unless it has that very build already. */
export async function importImages(node: Node, images: readonly ImagePart[], signal: AbortSignal): Promise<void> {
  const record = node.file('images.json');
  const imported = JSON.parse(await readFile(record, 'utf8').catch(() => '{}')) as Record<string, string>;
  for (const image of images) {
    const build = partDirectory(image);
    if (imported[image.reference] === build) continue;
    await importArchive(node, path.join(build, imageFile), signal);
    imported[image.reference] = build;
    await writeFile(record, JSON.stringify(imported, undefined, 2));
  }
}

/** Makes the image of an OCI archive known to the node. */
export async function importArchive(node: Node, archive: string, signal: AbortSignal): Promise<void> {
  await ctr(node, ['--namespace', 'k8s.io', 'images', 'import', '--local', archive], signal);
}

/** Whether containerd answers. */
export async function isContainerdReady(node: Node, signal: AbortSignal): Promise<boolean> {
  return ctr(node, ['--connect-timeout', '1s', 'version'], signal).then(
    () => true,
    () => false,
  );
}

function ctr(node: Node, args: readonly string[], signal: AbortSignal): Promise<string> {
  const program = [programPath('ctr'), '--address', CONTAINERD_SOCKET];
  return run('nsenter', [`--mount=${node.mounts}`, '--', ...program, ...args], { signal });
}
