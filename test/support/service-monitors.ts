/** ServiceMonitors as the Prometheus operator defines them: its own CRD, out of its Go module. */
import { copyFile, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { run } from '../../devcluster/command.ts';
import { build, type Part, partDirectory } from '../../devcluster/parts.ts';
import { eventually, type TestCluster } from './cluster.ts';

const MODULE = 'github.com/prometheus-operator/prometheus-operator';
const VERSION = 'v0.85.0';
const SUM = 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=';
const FILE = 'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml';

export const SERVICE_MONITOR_CRD = 'servicemonitors.monitoring.coreos.com';

const part: Part = {
  name: 'servicemonitor-crd',
  version: VERSION,
  inputs: [MODULE, SUM, FILE],
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
    await copyFile(path.join(Dir, FILE), path.join(directory, 'crd.yaml'));
  },
};

/** The definition, as YAML. */
export async function serviceMonitorCrd(signal: AbortSignal): Promise<string> {
  await build(part, { signal, report: () => {} });
  return readFile(path.join(partDirectory(part), 'crd.yaml'), 'utf8');
}

/** Makes the cluster know ServiceMonitors. */
export async function installServiceMonitors(cluster: TestCluster, signal: AbortSignal): Promise<void> {
  // By the server: the annotation of a client-side apply would be too long.
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], { input: await serviceMonitorCrd(signal), signal });
  const list = () => cluster.kubectl(['get', SERVICE_MONITOR_CRD]).then(() => true);
  await eventually('ServiceMonitors are served', list, Boolean, signal);
}
