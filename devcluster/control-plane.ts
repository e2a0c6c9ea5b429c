/** etcd, kube-apiserver, kube-controller-manager and kube-scheduler. */
import path from 'node:path';
import { kubeconfigFor, pkiFile } from './certificates.ts';
import { addresses, type Instance } from './instance.ts';
import type { Process } from './processes.ts';
import { programPath } from './programs.ts';

export interface ControlPlaneOptions {
  /** Log every request with its user agent to audit.log in the instance's directory. */
  readonly audit: boolean;
  /** Let controller-manager and scheduler ask for as much as thousands of pods need. */
  readonly scale: boolean;
  /** More arguments of the API server, to make it another one than most. */
  readonly apiserverArgs?: readonly string[];
  /** The same for the controller-manager. */
  readonly controllerManagerArgs?: readonly string[];
}

export function auditLog(instance: Pick<Instance, 'directory'>): string {
  return path.join(instance.directory, 'audit.log');
}

function auditPolicyFile(instance: Instance): string {
  return path.join(instance.directory, 'audit-policy.yaml');
}

const AUDIT_POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
`;

export function etcd(instance: Instance): Process {
  const { apiserver: address } = addresses(instance);
  return {
    name: 'etcd',
    program: programPath('etcd'),
    listens: ['127.0.0.1:2379', '127.0.0.1:2380', `${address}:2381`],
    health: `http://${address}:2381/health`,
    args: [
      `--data-dir=${path.join(instance.directory, 'etcd')}`,
      '--listen-client-urls=http://127.0.0.1:2379',
      '--advertise-client-urls=http://127.0.0.1:2379',
      '--listen-peer-urls=http://127.0.0.1:2380',
      '--initial-advertise-peer-urls=http://127.0.0.1:2380',
      '--initial-cluster=default=http://127.0.0.1:2380',
      `--listen-metrics-urls=http://${address}:2381`,
      '--quota-backend-bytes=8589934592',
      '--unsafe-no-fsync', // a cluster for tests: what a power cut takes is made anew
    ],
  };
}

export function apiserver(instance: Instance, { audit, apiserverArgs = [] }: ControlPlaneOptions): Process {
  const { apiserver: address, services } = addresses(instance);
  const pki = (file: string) => pkiFile(instance, file);
  return {
    name: 'kube-apiserver',
    program: programPath('kube-apiserver'),
    files: audit ? { [auditPolicyFile(instance)]: AUDIT_POLICY } : {},
    listens: [`${address}:6443`],
    health: `https://${address}:6443/readyz`,
    args: [
      `--advertise-address=${address}`,
      `--bind-address=${address}`,
      '--secure-port=6443',
      '--etcd-servers=http://127.0.0.1:2379',
      `--service-cluster-ip-range=${services}`,
      '--allow-privileged=true',
      '--authorization-mode=Node,RBAC',
      // Hardened clusters have the second one: with it, a missing permission on finalizers is noticed.
      '--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement',
      `--client-ca-file=${pki('ca.crt')}`,
      `--tls-cert-file=${pki('apiserver.crt')}`,
      `--tls-private-key-file=${pki('apiserver.key')}`,
      `--token-auth-file=${pki('tokens.csv')}`,
      `--kubelet-certificate-authority=${pki('ca.crt')}`,
      `--kubelet-client-certificate=${pki('kubelet-client.crt')}`,
      `--kubelet-client-key=${pki('kubelet-client.key')}`,
      '--kubelet-preferred-address-types=InternalIP',
      '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
      `--service-account-key-file=${pki('service-account.pub')}`,
      `--service-account-signing-key-file=${pki('service-account.key')}`,
      ...(audit
        ? [
            `--audit-policy-file=${auditPolicyFile(instance)}`,
            `--audit-log-path=${auditLog(instance)}`,
            '--audit-log-maxsize=0',
          ]
        : []),
      ...apiserverArgs,
    ],
  };
}

export function controllerManager(
  instance: Instance,
  { scale, controllerManagerArgs = [] }: ControlPlaneOptions,
): Process {
  const { apiserver: address } = addresses(instance);
  return {
    name: 'kube-controller-manager',
    program: programPath('kube-controller-manager'),
    listens: [`${address}:10257`],
    health: `https://${address}:10257/healthz`,
    args: [
      `--kubeconfig=${kubeconfigFor(instance, 'kube-controller-manager')}`,
      `--bind-address=${address}`,
      '--leader-elect=false',
      '--use-service-account-credentials=true',
      `--root-ca-file=${pkiFile(instance, 'ca.crt')}`,
      `--service-account-private-key-file=${pkiFile(instance, 'service-account.key')}`,
      `--cluster-signing-cert-file=${pkiFile(instance, 'ca.crt')}`,
      `--cluster-signing-key-file=${pkiFile(instance, 'ca.key')}`,
      ...(scale
        ? [
            '--kube-api-qps=1000',
            '--kube-api-burst=2000',
            '--concurrent-deployment-syncs=20',
            '--concurrent-replicaset-syncs=20',
            '--concurrent-service-endpoint-syncs=20',
            '--concurrent-endpoint-syncs=20',
            '--concurrent-gc-syncs=40',
          ]
        : []),
      ...controllerManagerArgs,
    ],
  };
}

export function scheduler(instance: Instance, { scale }: ControlPlaneOptions): Process {
  const { apiserver: address } = addresses(instance);
  return {
    name: 'kube-scheduler',
    program: programPath('kube-scheduler'),
    listens: [`${address}:10259`],
    health: `https://${address}:10259/healthz`,
    args: [
      `--kubeconfig=${kubeconfigFor(instance, 'kube-scheduler')}`,
      `--bind-address=${address}`,
      '--leader-elect=false',
      ...(scale ? ['--kube-api-qps=1000', '--kube-api-burst=2000'] : []),
    ],
  };
}
