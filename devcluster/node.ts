/** The real nodes of a cluster. Each is a containerd of its own and a kubelet, in one mount namespace. */
import path from 'node:path';
import { ensureCgroups } from './cgroups.ts';
import { addresses, type Instance } from './instance.ts';
import { ensureMounts } from './namespaces.ts';

export type NodeName = `node-${number}`;

export interface Node {
  readonly name: NodeName;
  readonly number: number;
  readonly address: string;
  /** The pinned mount namespace that its programs run in. */
  readonly mounts: string;
  /** What it keeps. */
  readonly file: (...names: string[]) => string;
}

/** Two, because spreading and draining mean nothing on one. */
export const NODE_NAMES: readonly NodeName[] = ['node-1', 'node-2'];

/** Inside the node's mount namespace this is the node's alone. */
export const CONTAINERD_SOCKET = '/run/containerd/containerd.sock';

/** What a node needs of the machine before its programs can start. */
export async function prepareNode(instance: Instance, name: NodeName): Promise<Node> {
  const number = NODE_NAMES.indexOf(name) + 1;
  await ensureCgroups(instance, name);
  return {
    name,
    number,
    address: addresses(instance).node(number),
    mounts: await ensureMounts(instance, name),
    file: (...names) => path.join(instance.directory, name, ...names),
  };
}
