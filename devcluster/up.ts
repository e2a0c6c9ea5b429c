/** Brings a cluster up on this machine: what it needs is installed and built, its place is found, and it is started. */
import { readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { destroy } from './down.ts';
import { ensurePackages, requireGo, requireRoot, requireSpace } from './host.ts';
import { images } from './images/index.ts';
import { claimInstance, findInstance, type Instance, type NodeForm, orphans } from './instance.ts';
import { Launch } from './launch.ts';
import { withLock } from './lock.ts';
import { cacheDirectory, isBuilt, type Part } from './parts.ts';
import { Problem } from './problem.ts';
import { type ProgramName, programPart, programPath } from './programs.ts';
import { buildMissing, type ProgressOutput } from './progress.ts';
import { type ClusterOptions, start } from './start.ts';

export interface UpOptions extends ClusterOptions {
  /** The directory that holds the instances' directories: the clone. */
  readonly root: string;
  readonly name: string;
  readonly signal: AbortSignal;
  readonly output: ProgressOutput;
}

const CONTROL_PLANE = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl'] as const;
const REAL_NODE = [
  'kubelet',
  'containerd',
  'containerd-shim-runc-v2',
  'ctr',
  'coredns',
  'kube-proxy',
  'kube-network-policies',
] as const;

export async function up(options: UpOptions): Promise<Instance> {
  const { root, name, form, signal, output } = options;
  const say = (line: string) => output.write(`${line}\n`);
  requireRoot();
  await requireForm(options);
  await ensurePackages(signal, say);
  const nodeImages = form === 'real' ? images(programPart('memcached_exporter')) : [];
  await ensureBuilt([...programsOf(form).map(programPart), ...nodeImages], options);
  await requireSpace(root, 'start');
  for (const orphan of await orphans()) {
    say(`removing what is left of ${orphan.directory}, which was deleted`);
    await destroy(orphan);
  }
  const instance = await claimInstance(root, name);
  const onWait = () => say(`waiting for another process that is starting or stopping "${name}"`);
  await withLock(
    `instance/${instance.id}`,
    async () => {
      const since = performance.now();
      await writeFile(formFile(instance), form);
      await start(new Launch(instance, signal, say), nodeImages, options);
      await linkKubectl(instance);
      say(`cluster "${name}" is ready after ${((performance.now() - since) / 1000).toFixed(1)} s`);
    },
    { signal, onWait },
  );
  return instance;
}

function programsOf(form: NodeForm): readonly ProgramName[] {
  if (form === 'real') return [...CONTROL_PLANE, ...REAL_NODE];
  return form === 'fake' ? [...CONTROL_PLANE, 'kwok'] : CONTROL_PLANE;
}

/** Builds what is missing, having checked that it can be built. */
export async function ensureBuilt(
  parts: readonly Part[],
  { signal, output }: Pick<UpOptions, 'signal' | 'output'>,
): Promise<void> {
  const built = await Promise.all(parts.map(isBuilt));
  if (built.includes(false)) {
    await requireGo();
    await requireSpace(cacheDirectory(), 'build');
  }
  await buildMissing(parts, signal, output);
}

function formFile(instance: Pick<Instance, 'directory'>): string {
  return path.join(instance.directory, 'form');
}

/** An instance keeps its form: half of another one would be left running otherwise. */
async function requireForm({ root, name, form }: UpOptions): Promise<void> {
  const instance = await findInstance(root, name);
  const known = instance && (await readFile(formFile(instance), 'utf8').catch(() => form));
  if (known === undefined || known === form) return;
  throw new Problem(
    `The cluster "${name}" was started with NODE=${known}.`,
    `Use it as it is, remove it first with \`make cluster-down\`, or start another one beside it with NAME=<other name> NODE=${form}.`,
  );
}

/** For people whose machine has no kubectl. */
async function linkKubectl(instance: Instance): Promise<void> {
  const link = path.join(instance.directory, 'kubectl');
  await rm(link, { force: true });
  await symlink(programPath('kubectl'), link);
}
