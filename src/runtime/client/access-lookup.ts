/** Finds the cluster to work on, in the order that people expect. */
import path from 'node:path';
import { type Access, type Environment, realSurroundings, type Surroundings } from './access.ts';
import { inClusterAccess, isInCluster } from './in-cluster.ts';
import { kubeconfigAccess } from './kubeconfig.ts';

export interface AccessOptions {
  /** The file named on the command line. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly env: Environment;
  readonly home: string;
  readonly surroundings?: Surroundings;
}

/** The named kubeconfig; else those of KUBECONFIG; else the pod's own cluster; else that of the home directory. */
export async function findAccess(options: AccessOptions): Promise<Access> {
  const { kubeconfig, context, env, home, surroundings = realSurroundings } = options;
  const listed = (env['KUBECONFIG'] ?? '').split(path.delimiter).filter((file) => file !== '');
  const isNamed = kubeconfig !== undefined || listed.length > 0 || context !== undefined;
  if (!isNamed && isInCluster(env)) return inClusterAccess(env, surroundings);
  const known = listed.length > 0 ? listed : [path.join(home, '.kube', 'config')];
  const files = kubeconfig === undefined ? known : [kubeconfig];
  return kubeconfigAccess({ files, context, env, surroundings });
}
