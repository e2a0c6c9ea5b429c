/** How to see that a part of the cluster does its work. */
import { Resolver } from 'node:dns/promises';
import { get } from './api.ts';
import { proxyHealth } from './cluster-services.ts';
import { addresses, type Instance } from './instance.ts';

interface List<Item> {
  readonly items: readonly (Item & { readonly metadata: { readonly name: string } })[];
}

interface NodeObject {
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

interface Lease {
  readonly spec?: { readonly renewTime?: string };
}

export async function isApiReady(instance: Instance): Promise<boolean> {
  return (await get(instance, '/readyz')) === 'ok';
}

/** Without its service account, a namespace refuses every pod. */
export async function takesPods(instance: Instance): Promise<boolean> {
  return (await get(instance, '/api/v1/namespaces/default/serviceaccounts/default')) !== undefined;
}

/**
 * Whether that many nodes are Ready, and have renewed their lease since that time.
 * After a crash the API still shows what the nodes said before it; the lease shows that they are back.
 */
export async function areNodesReady(instance: Instance, count: number, since: number): Promise<boolean> {
  const nodes = await list<NodeObject>(instance, '/api/v1/nodes');
  const leases = await list<Lease>(instance, '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases');
  const renewed = new Map(leases.items.map(({ metadata, spec }) => [metadata.name, Date.parse(spec?.renewTime ?? '')]));
  const ready = nodes.items.filter((node) => isReady(node) && (renewed.get(node.metadata.name) ?? 0) >= since);
  return ready.length >= count;
}

function isReady(node: NodeObject): boolean {
  const isTrue = node.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
  return isTrue ?? false;
}

async function list<Item>(instance: Instance, path: string): Promise<List<Item>> {
  const body = await get(instance, path);
  return body === undefined ? { items: [] } : (JSON.parse(body) as List<Item>);
}

export async function answersDns(instance: Instance): Promise<boolean> {
  const resolver = new Resolver({ timeout: 1000, tries: 1 });
  resolver.setServers([addresses(instance).dns]);
  return resolver.resolve4('kubernetes.default.svc.cluster.local').then(
    () => true,
    () => false,
  );
}

export async function isProxyHealthy(instance: Instance): Promise<boolean> {
  return fetch(`http://${proxyHealth(instance)}/healthz`).then(
    (response) => response.ok,
    () => false,
  );
}
