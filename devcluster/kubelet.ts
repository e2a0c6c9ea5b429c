/** kubelet: makes one node of the cluster out of a containerd. */
import { stringify } from 'yaml';
import { kubeconfigFor, pkiFile } from './certificates.ts';
import { cgroupRoot } from './cgroups.ts';
import { addresses, type Instance } from './instance.ts';
import { CONTAINERD_SOCKET, type Node } from './node.ts';
import type { Process } from './processes.ts';
import { programPath } from './programs.ts';

export function kubelet(instance: Instance, node: Node): Process {
  const { name, number, address, file } = node;
  return {
    name: `kubelet-${number}`,
    program: programPath('kubelet'),
    args: [
      `--config=${file('kubelet.yaml')}`,
      `--kubeconfig=${kubeconfigFor(instance, name)}`,
      `--root-dir=${file('kubelet')}`,
      `--hostname-override=${name}`,
      `--node-ip=${address}`,
      `--node-labels=topology.kubernetes.io/zone=zone-${number}`,
    ],
    files: {
      [file('kubelet.yaml')]: configuration(instance, node),
      [file('resolv.conf')]: '', // pods ask the cluster's DNS only
    },
    listens: [`${address}:10250`, `${address}:10248`],
    health: `http://${address}:10248/healthz`,
    mounts: node.mounts,
  };
}

function configuration(instance: Instance, { name, address, file }: Node): string {
  return stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address,
    healthzBindAddress: address,
    tlsCertFile: pkiFile(instance, `${name}.crt`),
    tlsPrivateKeyFile: pkiFile(instance, `${name}.key`),
    authentication: { x509: { clientCAFile: pkiFile(instance, 'ca.crt') } },
    authorization: { mode: 'Webhook' },
    containerRuntimeEndpoint: `unix://${CONTAINERD_SOCKET}`,
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
    clusterDNS: [addresses(instance).dns],
    clusterDomain: 'cluster.local',
    resolvConf: file('resolv.conf'),
    podLogsDir: file('pod-logs'),
    volumePluginDir: file('volume-plugins'),
    syncFrequency: '10s', // a changed Secret reaches its pods within seconds, not within a minute
    serializeImagePulls: false,
  });
}
