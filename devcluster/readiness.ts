/** How far the cluster is, beyond the health of its processes. */
import { get } from './api.ts';
import { run } from './command.ts';
import type { Instance } from './instance.ts';
import { networkNamespace } from './namespaces.ts';

interface NodeList {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly status: { readonly conditions?: readonly NodeCondition[] };
  }[];
}

interface NodeCondition {
  readonly type: string;
  readonly status: string;
  readonly lastHeartbeatTime: string;
}

/** Without its service account, a namespace refuses every pod. */
export async function takesPods(instance: Instance): Promise<boolean> {
  return (await get(instance, '/api/v1/namespaces/default/serviceaccounts/default')) !== undefined;
}

/**
 * The nodes that have said since that time that they are Ready.
 * After a crash the API still shows what they said before it.
 */
export async function readyNodes(instance: Instance, since: number): Promise<string[]> {
  const body = await get(instance, '/api/v1/nodes');
  const { items } = body === undefined ? { items: [] } : (JSON.parse(body) as NodeList);
  const wholeSeconds = Math.floor(since / 1000) * 1000; // as the API has them
  const isReady = ({ type, status, lastHeartbeatTime }: NodeCondition) =>
    type === 'Ready' && status === 'True' && Date.parse(lastHeartbeatTime) >= wholeSeconds;
  return items.filter((node) => node.status.conditions?.some(isReady)).map((node) => node.metadata.name);
}

/** Whether somebody takes the packets that the firewall puts into the queue; until then it lets all of them through. */
export async function isQueueServed(instance: Instance, queue: string): Promise<boolean> {
  const table = '/proc/net/netfilter/nfnetlink_queue';
  const queues = await run('nsenter', [`--net=${networkNamespace(instance)}`, 'cat', table]);
  return queues.split('\n').some((line) => line.trim().split(/\s+/)[0] === queue);
}
