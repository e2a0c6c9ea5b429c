/** A cluster of its own for what is measured: fresh, so that nobody pays for what came before. */
import { homedir } from 'node:os';
import path from 'node:path';
import { auditLog } from '../devcluster/control-plane.ts';
import { kubeconfigOf } from '../devcluster/instance.ts';
import { type Client, createClient, findAccess } from '../src/runtime/client/index.ts';
import { ROOT, startCluster, stopCluster, type TestCluster } from '../test/support/cluster.ts';
import { FakeMemcacheds } from '../test/support/fake-memcacheds.ts';
import { installOperator } from '../test/support/operator.ts';
import { installServiceMonitors } from '../test/support/service-monitors.ts';
import { AuditLog } from './audit.ts';
import { REPLICAS } from './crowd.ts';
import { Machine } from './machine.ts';
import { type Metrics, metricsReader } from './metrics.ts';
import { Operator, type OperatorOptions } from './operator.ts';
import { say, timed } from './progress.ts';

const NAME = 'bench';
const PODS_PER_NODE = 100;
/** Requests of the operator, by its user agent. */
const OPERATOR = 'memcached-operator/';
export const BENCH_AGENT = 'bench/1';
/** Nobody measures the load of simulated pods: the controller of autoscalers would do nothing but look in vain, at each of them every 15 s. */
const controllerManagerArgs = ['--horizontal-pod-autoscaler-sync-period=24h'];

export interface SiteOptions extends Pick<OperatorOptions, 'nodeFlags' | 'directory'> {
  /** The sources of the operator as they are, instead of the bundled file. */
  readonly sources: boolean;
}

export interface Site {
  readonly cluster: TestCluster;
  /** An administrator's. */
  readonly client: Client;
  /** What the operator asks. */
  readonly audit: AuditLog;
  readonly machine: Machine;
  /** They answer for all pods, always the same. */
  readonly servers: FakeMemcacheds;
  readonly metricsOf: (operator: Operator) => Promise<Metrics>;
  /** With the permissions of the operator, unless another kubeconfig is given. */
  startOperator(flags?: readonly string[], kubeconfig?: string): Promise<Operator>;
}

export function kubeconfigOfAdministrator({ instance }: TestCluster): string {
  return kubeconfigOf(instance);
}

/** Does the work on a cluster that was never used, with room for the pods of so many Memcacheds. */
export async function onFreshSite<T>(
  { sources, nodeFlags, directory }: SiteOptions,
  memcacheds: number,
  signal: AbortSignal,
  work: (site: Site) => Promise<T>,
): Promise<T> {
  await stopCluster({ name: NAME });
  const fakeNodes = Math.max(10, Math.ceil((2 * REPLICAS * memcacheds) / PODS_PER_NODE)); // rollouts need more
  const operators: Operator[] = [];
  let client: Client | undefined;
  let servers: FakeMemcacheds | undefined;
  try {
    const cluster = await startCluster({
      name: NAME,
      form: 'fake',
      audit: true,
      fakeNodes,
      controllerManagerArgs,
      signal,
    });
    await installServiceMonitors(cluster, signal);
    const own = await installOperator(cluster, signal);
    const metricsOf = await metricsReader(cluster);
    const access = await findAccess({ kubeconfig: kubeconfigOf(cluster.instance), env: {}, home: homedir() });
    client = createClient({ access, userAgent: BENCH_AGENT });
    const script = path.join(ROOT, sources ? 'src/main.ts' : 'dist/memcached-operator.js');
    servers = await FakeMemcacheds.start(cluster.instance);
    const machine = await Machine.of(cluster.instance, [servers.pid]);
    const audit = new AuditLog(auditLog(cluster.instance), OPERATOR);
    const startOperator = async (flags: readonly string[] = [], kubeconfig = own) => {
      const operator = await Operator.start({ script, nodeFlags, kubeconfig, flags, directory, signal });
      operators.push(operator);
      return operator;
    };
    await timed('until the cluster is calm', machine.calm(signal));
    return await work({ cluster, client, audit, machine, servers, metricsOf, startOperator });
  } finally {
    for (const operator of operators) await operator.stop();
    await servers?.stop();
    await client?.close();
    await stopCluster({ name: NAME });
    say(`cluster "${NAME}" is gone`);
  }
}
