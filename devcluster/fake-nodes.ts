/** Nodes that kwok only simulates: thousands of pods at the price of their API objects. */
import path from 'node:path';
import { stringify } from 'yaml';
import { kubeconfigFor } from './certificates.ts';
import { addresses, type Instance } from './instance.ts';
import { partDirectory } from './parts.ts';
import type { Process } from './processes.ts';
import { programPart, programPath } from './programs.ts';

const MARK = 'devcluster/fake-node';

export function kwok(instance: Instance): Process {
  const { apiserver, fakePods } = addresses(instance);
  return {
    name: 'kwok',
    program: programPath('kwok'),
    listens: [`${apiserver}:10247`],
    health: `http://${apiserver}:10247/healthz`,
    args: [
      `--kubeconfig=${kubeconfigFor(instance, 'kwok')}`,
      `--config=${path.join(partDirectory(programPart('kwok')), 'stages.yaml')}`,
      `--manage-nodes-with-annotation-selector=${MARK}=true`,
      `--cidr=${fakePods}`,
      `--node-ip=${apiserver}`,
      '--node-lease-duration-seconds=40',
      `--server-address=${apiserver}:10247`,
    ],
  };
}

/** The manifest of that many nodes. */
export function fakeNodes(count: number): string {
  const nodes = Array.from({ length: count }, (_, index) => {
    const name = `fake-${index + 1}`;
    return stringify({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name,
        annotations: { [MARK]: 'true' },
        labels: {
          'kubernetes.io/hostname': name,
          'kubernetes.io/os': 'linux',
          'topology.kubernetes.io/zone': `zone-${(index % 3) + 1}`,
        },
      },
    });
  });
  return nodes.join('---\n');
}
