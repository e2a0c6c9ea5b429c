/** What pods expect of a cluster: names (CoreDNS), Services (kube-proxy) and NetworkPolicy. */
import path from 'node:path';
import { stringify } from 'yaml';
import { kubeconfigFor, pkiFile } from './certificates.ts';
import { run } from './command.ts';
import { addresses, type Instance } from './instance.ts';
import { FORGET_NETWORKS, networkNamespace } from './namespaces.ts';
import { NODE_NAMES } from './node.ts';
import type { Process } from './processes.ts';
import { programPath } from './programs.ts';

/** Where the firewall puts new connections, and kube-network-policies takes them from. */
export const QUEUE = '100';

const [FIRST_NODE = ''] = NODE_NAMES;

/** Permissions of the two that Kubernetes itself does not know. */
export const PERMISSIONS = ['coredns', 'network-policies']
  .map((name) =>
    stringify({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: `devcluster:${name}` },
      rules: [
        {
          apiGroups: [''],
          resources: ['namespaces', 'nodes', 'pods', 'services', 'endpoints'],
          verbs: ['get', 'list', 'watch'],
        },
        { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
        { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: ['list', 'watch'] },
      ],
    }).concat(
      '---\n',
      stringify({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: `devcluster:${name}` },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: `devcluster:${name}` },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: `devcluster:${name}` }],
      }),
    ),
  )
  .join('---\n');

export function dns(instance: Instance): Process {
  const { dns: address } = addresses(instance);
  const corefile = path.join(instance.directory, 'Corefile');
  const text = `.:53 {
  bind ${address}
  errors
  ready ${address}:8181
  kubernetes cluster.local in-addr.arpa {
    kubeconfig "${kubeconfigFor(instance, 'coredns')}"
    ttl 5
  }
}
`;
  return {
    name: 'coredns',
    program: programPath('coredns'),
    args: ['-conf', corefile],
    files: { [corefile]: text },
    listens: [`${address}:53`, `${address}:8181`],
    health: `http://${address}:8181/ready`,
  };
}

/** One for both nodes: they share a network namespace, and with it the firewall. */
export function proxy(instance: Instance): Process {
  const { all, apiserver: address } = addresses(instance);
  const file = path.join(instance.directory, 'kube-proxy.yaml');
  const configuration = {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'nftables',
    hostnameOverride: FIRST_NODE,
    clusterCIDR: all,
    clientConnection: { kubeconfig: kubeconfigFor(instance, 'kube-proxy') },
    conntrack: { maxPerCore: 0, min: 0 }, // the limit belongs to the whole machine
    healthzBindAddress: `${address}:10256`,
    metricsBindAddress: `${address}:10249`,
    oomScoreAdj: 0,
  };
  return {
    name: 'kube-proxy',
    program: programPath('kube-proxy'),
    args: [`--config=${file}`],
    files: { [file]: stringify(configuration) },
    listens: [`${address}:10256`, `${address}:10249`],
    health: `http://${address}:10256/healthz`,
  };
}

/** Decides about each new connection between pods that the firewall hands to it. */
export function networkPolicies(instance: Instance): Process {
  const { apiserver } = addresses(instance);
  // It takes its credentials from where a pod has them, and from nowhere else: that place is made for it alone.
  const place = '/run/secrets/kubernetes.io/serviceaccount';
  const script = [
    FORGET_NETWORKS,
    'mount -t tmpfs tmpfs /run',
    `mkdir -p ${place}`,
    `cp "$0" ${place}/ca.crt`,
    `cp "$1" ${place}/token`,
    'shift',
    'exec "$@"',
  ].join(' && ');
  return {
    name: 'kube-network-policies',
    program: programPath('kube-network-policies'),
    listens: [`${apiserver}:9080`],
    health: `http://${apiserver}:9080/metrics`,
    args: [`--nfqueue-id=${QUEUE}`, `--hostname-override=${FIRST_NODE}`, `--metrics-bind-address=${apiserver}:9080`],
    wrapper: [
      'unshare',
      '--mount',
      '--propagation',
      'private',
      'sh',
      '-c',
      script,
      pkiFile(instance, 'ca.crt'),
      pkiFile(instance, 'network-policies.token'),
    ],
    env: { KUBERNETES_SERVICE_HOST: apiserver, KUBERNETES_SERVICE_PORT: '6443' },
  };
}

/** Not every kernel lets nftables queue packets, which kube-network-policies would do itself; iptables can everywhere. */
export async function handConnectionsOver(instance: Instance): Promise<void> {
  const rule = [
    'FORWARD',
    '-m',
    'conntrack',
    '--ctstate',
    'NEW',
    '-j',
    'NFQUEUE',
    '--queue-num',
    QUEUE,
    '--queue-bypass',
  ];
  const iptables = (verb: string) =>
    run('nsenter', [`--net=${networkNamespace(instance)}`, 'iptables', '-w', verb, ...rule], environment);
  const environment = { env: { XTABLES_LOCKFILE: path.join(instance.runDirectory, 'xtables.lock') } };
  await iptables('--check').catch(() => iptables('--insert'));
}
