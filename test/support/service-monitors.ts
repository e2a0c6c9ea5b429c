/** ServiceMonitors and PrometheusRules as the Prometheus operator defines them: its own CRDs, out of its Go module. */
import { copyFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { run } from '../../devcluster/command.ts';
import { build, type Part, partDirectory } from '../../devcluster/parts.ts';
import { eventually, type TestCluster } from './cluster.ts';

const MODULE = 'github.com/prometheus-operator/prometheus-operator';
const VERSION = 'v0.85.0';
const SUM = 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=';

export const SERVICE_MONITOR_CRD = 'servicemonitors.monitoring.coreos.com';

const fileOf = (plural: string) => `example/prometheus-operator-crd/monitoring.coreos.com_${plural}.yaml`;

const partFor = (name: string, plural: string): Part => ({
  name,
  version: VERSION,
  inputs: [MODULE, SUM, fileOf(plural)],
  seconds: 5,
  async build(directory, { signal, report }) {
    report('fetching the module');
    // Nothing is compiled, so there is no go.sum: the sum above takes its place.
    const env = { GOFLAGS: '', GOWORK: 'off', GONOSUMDB: MODULE };
    const answer = await run('go', ['mod', 'download', '-json', `${MODULE}@${VERSION}`], {
      cwd: tmpdir(),
      env,
      signal,
    });
    const { Dir, Sum } = JSON.parse(answer) as { Dir: string; Sum: string };
    if (Sum !== SUM) throw new Error(`${MODULE}@${VERSION} has the sum ${Sum}, not ${SUM}`);
    await copyFile(path.join(Dir, fileOf(plural)), path.join(directory, 'crd.yaml'));
  },
});

const serviceMonitors = partFor('servicemonitor-crd', 'servicemonitors');
const prometheusRules = partFor('prometheusrule-crd', 'prometheusrules');

/** Makes the cluster know ServiceMonitors. */
export function installServiceMonitors(cluster: TestCluster, signal: AbortSignal): Promise<void> {
  return install(cluster, serviceMonitors, SERVICE_MONITOR_CRD, signal);
}

export function installPrometheusRules(cluster: TestCluster, signal: AbortSignal): Promise<void> {
  return install(cluster, prometheusRules, 'prometheusrules.monitoring.coreos.com', signal);
}

async function install(cluster: TestCluster, part: Part, name: string, signal: AbortSignal): Promise<void> {
  await build(part, { signal, report: () => {} });
  const file = path.join(partDirectory(part), 'crd.yaml');
  // By the server: the annotation of a client-side apply would be too long.
  await cluster.kubectl(['apply', '--server-side', '-f', file], { signal });
  const list = () => cluster.kubectl(['get', name]).then(() => true);
  await eventually(`${name} are served`, list, Boolean, signal);
}
