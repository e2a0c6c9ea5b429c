/** Kubernetes' own metrics of pods (metrics-server), for clusters whose autoscalers shall see real load. */
import { spawn } from 'node:child_process';
import { mkdir, open } from 'node:fs/promises';
import path from 'node:path';
import { WITHOUT_PROXY } from '../../devcluster/command.ts';
import { addresses, kubeconfigOf } from '../../devcluster/instance.ts';
import { networkNamespace } from '../../devcluster/namespaces.ts';
import { logDirectory } from '../../devcluster/processes.ts';
import { programPath } from '../../devcluster/programs.ts';
import { eventually, type TestCluster } from './cluster.ts';
import { buildPrograms } from './programs.ts';

const NAME = 'metrics-server';
const PORT = 4443;

/** Runs it beside the control plane, until the cluster is removed. Resolves when it knows every node. */
export async function startMetricsServer(cluster: TestCluster, signal: AbortSignal): Promise<void> {
  const { instance } = cluster;
  await buildPrograms([NAME], signal);
  const address = addresses(instance).apiserver;
  const directory = path.join(instance.directory, NAME);
  await mkdir(directory, { recursive: true });
  const kubeconfigs = ['', 'authentication-', 'authorization-'].map(
    (role) => `--${role}kubeconfig=${kubeconfigOf(instance)}`,
  );
  const kubelets = ['--kubelet-insecure-tls', '--kubelet-preferred-address-types=InternalIP'];
  const args = [
    ...kubeconfigs,
    ...kubelets,
    `--bind-address=${address}`,
    `--secure-port=${PORT}`,
    `--cert-dir=${directory}`,
    '--metric-resolution=10s',
    '--kubelet-request-timeout=8s',
  ];
  const log = await open(path.join(logDirectory(instance), `${NAME}.log`), 'a');
  spawn('nsenter', [`--net=${networkNamespace(instance)}`, '--', programPath(NAME), ...args], {
    detached: true,
    env: { ...process.env, ...WITHOUT_PROXY },
    stdio: ['ignore', log.fd, log.fd],
  }).unref();
  await log.close();
  await cluster.kubectl(['apply', '-f', '-'], {
    input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects(address) }),
  });
  const known = () => cluster.kubectl(['top', 'nodes', '--no-headers']);
  await eventually('metrics are served', known, (lines) => lines.trim().split('\n').length === 2, signal);
}

/** The API server of these clusters has no certificate to show to others, so that it comes to them as nobody. */
function objects(address: string): object[] {
  const [metadata, place] = [{ name: NAME, namespace: 'kube-system' }, { name: `devcluster:${NAME}` }];
  const apiGroup = 'rbac.authorization.k8s.io';
  const rules = [
    { apiGroups: ['metrics.k8s.io'], resources: ['*'], verbs: ['get', 'list'] },
    { nonResourceURLs: ['/apis/*', '/openapi/*'], verbs: ['get'] },
  ];
  return [
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [{ port: 443, targetPort: PORT }] } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels: { 'kubernetes.io/service-name': NAME } },
      addressType: 'IPv4',
      ports: [{ name: '', port: PORT, protocol: 'TCP' }],
      endpoints: [{ addresses: [address] }],
    },
    { apiVersion: `${apiGroup}/v1`, kind: 'ClusterRole', metadata: place, rules },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: place,
      roleRef: { apiGroup, kind: 'ClusterRole', name: place.name },
      subjects: [{ apiGroup, kind: 'User', name: 'system:anonymous' }],
    },
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: 'v1beta1.metrics.k8s.io' },
      spec: {
        group: 'metrics.k8s.io',
        version: 'v1beta1',
        service: metadata,
        insecureSkipTLSVerify: true,
        groupPriorityMinimum: 100,
        versionPriority: 100,
      },
    },
  ];
}
