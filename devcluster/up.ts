/** Brings a cluster up on this machine: what it needs is installed and built, its place is found, and it is started. */
import { readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { removeOrphans } from './down.ts';
import { ensurePackages, goCaches, requireGo, requireRoot, requireSpace } from './host.ts';
import { type ImagePart, images as nodeImages } from './images/index.ts';
import { claimInstance, findInstance, type Instance, type NodeForm, placeOf, withInstance } from './instance.ts';
import { Launch } from './launch.ts';
import { cacheDirectory, type Part } from './parts.ts';
import { Problem } from './problem.ts';
import { type ProgramName, programPart, programPath } from './programs.ts';
import { buildMissing, missingParts, type ProgressOutput, seconds } from './progress.ts';
import { type ClusterOptions, start } from './start.ts';

export interface UpOptions extends ClusterOptions {
  /** The directory that holds the instances' directories: the clone. */
  readonly root: string;
  readonly name: string;
  readonly startedBy: Instance['startedBy'];
  readonly signal: AbortSignal;
  readonly output: ProgressOutput;
}

const START_GIB = 2;
/** A full build takes about 17 minutes and 10 GiB, most of it in Go's own caches. */
const SECONDS_PER_GIB = 100;

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
  requireRoot();
  const { root, name, signal, output } = options;
  const say = (line: string) => output.write(`${line}\n`);
  const onWait = () => say(`waiting for another process that is starting or stopping "${name}"`);
  const place = placeOf(root, name);
  return withInstance(place, () => bringUp(place, options, say), { signal, onWait });
}

async function bringUp(
  place: ReturnType<typeof placeOf>,
  options: UpOptions,
  say: (line: string) => void,
): Promise<Instance> {
  const { root, name, form, signal } = options;
  await requireForm(options);
  await ensurePackages(signal, say);
  const parts = partsOf(form);
  await ensureBuilt(parts, options);
  await requireSpace([root], START_GIB, 'Starting a cluster');
  await removeOrphans(say, { signal });
  const instance = await claimInstance(place, options.startedBy);
  await writeFile(formFile(instance), form);
  const since = performance.now();
  await start(new Launch(instance, signal, say), parts.filter(isImage), options);
  await linkKubectl(instance);
  say(`cluster "${name}" is ready after ${((performance.now() - since) / 1000).toFixed(1)} s`);
  return instance;
}

/** Everything that has to be built for a cluster of that form. */
export function partsOf(form: NodeForm): readonly Part[] {
  const images = form === 'real' ? nodeImages(programPart('memcached_exporter')) : [];
  return [...programsOf(form).map(programPart), ...images];
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
  const missing = await missingParts(parts);
  if (missing.length > 0) {
    await requireGo();
    const gib = Math.ceil(1 + seconds(missing) / SECONDS_PER_GIB);
    await requireSpace([cacheDirectory(), ...(await goCaches())], gib, 'Building what is missing');
  }
  await buildMissing(parts, signal, output);
}

function isImage(part: Part): part is ImagePart {
  return 'reference' in part;
}

function formFile(instance: Pick<Instance, 'directory'>): string {
  return path.join(instance.directory, 'form');
}

/** An instance keeps its form: half of another one would be left running otherwise. */
async function requireForm({ root, name, form }: UpOptions): Promise<void> {
  const instance = await findInstance(root, name);
  const known = instance && (await readFile(formFile(instance), 'utf8').catch(() => form));
  if (!known || known === form) return; // empty: a start was killed while it wrote this file, before anything ran
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
