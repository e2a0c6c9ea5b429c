/** The cluster that the operator is deployed to: the one of KUBECONFIG, or the embedded one. */
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { findInstance, type Instance, kubeconfigOf, registeredInstances } from '../devcluster/instance.ts';
import { callKubectl, givenCluster, kubectlOf } from '../devcluster/kubectl.ts';
import { Problem } from '../devcluster/problem.ts';

export interface Target {
  /** The embedded cluster, if it is one: its nodes get the image from us, and pull none. */
  readonly instance?: Instance;
  /** What kubectl prints. */
  kubectl(args: readonly string[], input?: string): Promise<string>;
}

export async function findTarget(root: string, name: string, signal: AbortSignal): Promise<Target> {
  const given = await givenCluster(signal);
  const instance = given ? await embeddedAt(given.kubeconfig) : await findInstance(root, name);
  if (!given && !instance) {
    throw new Problem(
      `There is no embedded cluster "${name}", and KUBECONFIG is not set.`,
      'Start one with `make cluster`, or set KUBECONFIG to a cluster that you have.',
    );
  }
  const kubectl = given ?? kubectlOf(instance as Instance);
  return {
    ...(instance && { instance }),
    kubectl: (args, input) => callKubectl(kubectl, args, { signal, ...(input !== undefined && { input }) }),
  };
}

async function embeddedAt(kubeconfig: string): Promise<Instance | undefined> {
  const place = await realpath(kubeconfig).catch(() => path.resolve(kubeconfig)); // it may be a list of files
  return (await registeredInstances()).find((instance) => kubeconfigOf(instance) === place);
}
