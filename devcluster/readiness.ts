/** How to see that a part of the cluster does its work. */
import { Resolver } from 'node:dns/promises';
import { get } from './api.ts';
import { proxyHealth } from './cluster-services.ts';
import { addresses, type Instance } from './instance.ts';

interface NodeList {
  readonly items: readonly { readonly status: { readonly conditions?: readonly NodeCondition[] } }[];
}

interface NodeCondition {
  readonly type: string;
  readonly status: string;
  readonly lastHeartbeatTime: string;
}

export async function isApiReady(instance: Instance): Promise<boolean> {
  return (await get(instance, '/readyz')) === 'ok';
}

/** Without its service account, a namespace refuses every pod. */
export async function takesPods(instance: Instance): Promise<boolean> {
  return (await get(instance, '/api/v1/namespaces/default/serviceaccounts/default')) !== undefined;
}

/**
 * Whether that many nodes have said since that time that they are Ready.
 * After a crash the API still shows what they said before it.
 */
export async function areNodesReady(instance: Instance, count: number, since: number): Promise<boolean> {
  const body = await get(instance, '/api/v1/nodes');
  const { items } = body === undefined ? { items: [] } : (JSON.parse(body) as NodeList);
  const wholeSeconds = Math.floor(since / 1000) * 1000; // as the API has them
  const isReady = ({ type, status, lastHeartbeatTime }: NodeCondition) =>
    type === 'Ready' && status === 'True' && Date.parse(lastHeartbeatTime) >= wholeSeconds;
  return items.filter((node) => node.status.conditions?.some(isReady)).length >= count;
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
