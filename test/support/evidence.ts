/** What a failed test leaves behind, in one folder: its words, events, objects and logs of every cluster that runs at that moment. */
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach } from 'vitest';
import { logDirectory } from '../../devcluster/processes.ts';
import { ROOT, runningClusters, type TestCluster } from './cluster.ts';
import { operatorWords } from './operator.ts';

const FOLDER = path.join(ROOT, '.evidence');
/** Secrets are told by name and nothing else. */
const SECRETS = ['get', 'secrets', '--all-namespaces'];
const KINDS =
  'memcacheds,deployments,replicasets,pods,services,endpointslices,poddisruptionbudgets,horizontalpodautoscalers,networkpolicies,nodes,namespaces,leases,mutatingwebhookconfigurations,validatingwebhookconfigurations,crd';

/** Whose logs are kept: hundreds that are only simulated have none. */
const MOST_PODS = 20;

type Source = Pick<TestCluster, 'kubectl'> & Partial<Pick<TestCluster, 'instance'>>;

// Of every file of the project that has this one as its setup.
afterEach(async ({ task }) => {
  if (task.result?.state !== 'fail') return;
  const words = task.result.errors?.map(({ stack, message }) => stack ?? message).join('\n') ?? '';
  await collect(`${path.basename(task.file.name, '.test.ts')}/${task.fullTestName}`, words);
});

/** Clusters that the tests have not started themselves. */
const others: Source[] = [];

export function alsoAsk(source: Source): void {
  others.push(source);
}

/** Does what belongs to no test, and leaves evidence if it fails. */
export async function watchOver(name: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    await collect(name, String(error));
    throw error;
  }
}

async function collect(name: string, failure: string): Promise<void> {
  const sources: readonly Source[] = [...runningClusters(), ...others];
  const folder = path.join(FOLDER, ...name.split('/').map((part) => part.replaceAll(/[^\w.-]+/g, '-').slice(0, 80)));
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'failure.txt'), `${failure}\n`);
  for (const [index, source] of sources.entries())
    await collectFrom(source, path.join(folder, source.instance?.name ?? `cluster-${index}`));
  for (const [index, words] of operatorWords().entries())
    await writeFile(path.join(folder, `operator-${index}.log`), words);
  console.log(`evidence: ${path.relative(ROOT, folder)}`);
}

async function collectFrom(source: Source, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const keep = async (file: string, args: readonly string[]) => {
    const signal = AbortSignal.timeout(30_000); // the API server may be what has failed
    const said = await source.kubectl(args, { signal }).catch((error: unknown) => `kubectl: ${String(error)}\n`);
    await writeFile(path.join(folder, file), said);
    return said;
  };
  await keep('overview.txt', ['get', KINDS, '--all-namespaces', '-o', 'wide']);
  await keep('objects.yaml', ['get', KINDS, '--all-namespaces', '-o', 'yaml']);
  await keep('secrets.txt', SECRETS);
  await keep('events.txt', ['get', 'events', '--all-namespaces', '--sort-by=.metadata.creationTimestamp']);
  const columns = 'custom-columns=NAMESPACE:.metadata.namespace,NAME:.metadata.name,PHASE:.status.phase';
  const pods = await keep('pods.txt', ['get', 'pods', '--all-namespaces', '--no-headers', '-o', columns]);
  const isRunning = (line: string) => Number(line.endsWith('Running'));
  const lines = pods.trim().split('\n');
  for (const line of lines.toSorted((a, b) => isRunning(a) - isRunning(b)).slice(0, MOST_PODS)) {
    const [namespace, name] = line.split(/\s+/);
    if (!namespace || !name || line.startsWith('kubectl:')) continue;
    const logs = ['logs', '--namespace', namespace, name, '--all-containers', '--prefix', '--timestamps'];
    await keep(`${namespace}-${name}.log`, logs);
    await keep(`${namespace}-${name}-before.log`, [...logs, '--previous']);
  }
  if (source.instance) await cp(logDirectory(source.instance), path.join(folder, 'cluster'), { recursive: true });
}
