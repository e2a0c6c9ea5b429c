/** One embedded cluster: its name, where its files are, and the addresses that are its alone. */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { run } from './command.ts';
import { type LockOptions, withLock } from './lock.ts';
import { Problem } from './problem.ts';

export const NODE_FORMS = ['real', 'none', 'fake'] as const;
export type NodeForm = (typeof NODE_FORMS)[number];

export interface Instance {
  readonly name: string;
  /** Unique on this machine, also among clones: the name of its network namespace and its cgroup. */
  readonly id: string;
  /** Everything that the cluster keeps; the kubeconfig is in it. */
  readonly directory: string;
  /** Sockets, process ids and namespaces: a short path, because sockets allow no long ones. */
  readonly runDirectory: string;
  /** The second number of its addresses, 10.block.0.0/16. */
  readonly block: number;
  /** Who started it first, and so may remove it without asking. */
  readonly startedBy: 'cluster' | 'demo';
}

/** What follows from name and place alone. */
type Place = Pick<Instance, 'name' | 'id' | 'directory' | 'runDirectory'>;

export const RUN_ROOT = '/run/memcached-devcluster';
const FIRST_BLOCK = 130;
const LAST_BLOCK = 199;

/** Addresses of an instance. The host reaches all of them; nothing outside this machine does. */
export function addresses(instance: Pick<Instance, 'block'>) {
  const prefix = `10.${instance.block}`;
  return {
    all: `${prefix}.0.0/16`,
    host: `${prefix}.0.1`,
    apiserver: `${prefix}.0.2`,
    dns: `${prefix}.0.10`,
    /** Node 1, 2, … */
    node: (number: number) => `${prefix}.0.${10 + number}`,
    podsOf: (number: number) => `${prefix}.${number}.0/24`,
    fakePods: `${prefix}.128.0/17`,
    services: '10.96.0.0/16',
    kubernetesService: '10.96.0.1',
  };
}

export function instanceDirectory(root: string, name: string): string {
  return path.join(root, name === 'default' ? '.devcluster' : `.devcluster-${name}`);
}

export function kubeconfigOf(instance: Pick<Instance, 'directory'>): string {
  return path.join(instance.directory, 'kubeconfig');
}

/** Where the instance of that name under that root is, or would be. */
export function placeOf(root: string, name: string): Place {
  checkName(name);
  const directory = instanceDirectory(root, name);
  checkDirectory(directory);
  const id = `mcd-${name}-${createHash('sha256').update(directory).digest('hex').slice(0, 6)}`;
  return { name, id, directory, runDirectory: path.join(RUN_ROOT, id) };
}

/** Runs `work` while nobody else starts or stops the instance. */
export function withInstance<T>(place: Place, work: () => Promise<T>, options: LockOptions): Promise<T> {
  return withLock(`instance/${place.id}`, work, options);
}

/** Runs `work` while no instance comes or goes. */
export function withInstances<T>(work: () => Promise<T>): Promise<T> {
  return withLock('instances', work);
}

/** The instance at that place, with the block of addresses that it has or gets now. */
export async function claimInstance(place: Place, startedBy: Instance['startedBy']): Promise<Instance> {
  return withInstances(async () => {
    const others = (await registeredInstances()).filter(({ id }) => id !== place.id);
    const recorded = await readRecord(place.directory);
    if (recorded) requireUntaken(recorded, others);
    const block = recorded?.block ?? (await freeBlock(others));
    const claimed: Instance = { ...place, block, startedBy: recorded?.startedBy ?? startedBy };
    for (const directory of [claimed.directory, claimed.runDirectory]) {
      await mkdir(directory, { recursive: true });
      await writeFile(path.join(directory, 'instance.json'), JSON.stringify(claimed, undefined, 2));
    }
    return claimed;
  });
}

function checkName(name: string): void {
  if (/^[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?$/.test(name)) return;
  throw new Problem(
    `"${name}" cannot name a cluster.`,
    'Use at most 20 lower-case letters, digits and dashes, e.g. NAME=demo.',
  );
}

/** Overlay mounts give these characters a meaning of their own. */
function checkDirectory(directory: string): void {
  if (!/[:,"\\\n]/.test(directory)) return;
  throw new Problem(
    `A cluster cannot live in ${directory}.`,
    'Use a directory without colons, commas, quotes and backslashes.',
  );
}

/** What instances this machine knows of, running or left behind. */
export async function registeredInstances(): Promise<Instance[]> {
  const found: Instance[] = [];
  for (const entry of await readdir(RUN_ROOT).catch(() => [])) {
    const instance = await readRecord(path.join(RUN_ROOT, entry));
    if (instance) found.push(instance);
  }
  return found;
}

/** The instance of that name, if there is anything of it. */
export async function findInstance(root: string, name: string): Promise<Instance | undefined> {
  const place = placeOf(root, name);
  const recorded = (await readRecord(place.runDirectory)) ?? (await readRecord(place.directory));
  // The record of a clone that was copied names the original: what follows from the place is never taken from it.
  return recorded && { ...recorded, ...place };
}

/** Whether the clone of the instance was deleted: nobody can stop it by name any more. */
export async function isOrphan(instance: Instance): Promise<boolean> {
  return (
    (await readRecord(instance.directory)) === undefined && (await readRecord(instance.runDirectory)) !== undefined
  );
}

async function readRecord(directory: string): Promise<Instance | undefined> {
  try {
    return JSON.parse(await readFile(path.join(directory, 'instance.json'), 'utf8')) as Instance;
  } catch {
    return undefined;
  }
}

function requireUntaken(recorded: Instance, others: readonly Instance[]): void {
  const taken = others.find(({ block }) => block === recorded.block);
  if (!taken) return;
  throw new Problem(
    `The addresses ${addresses(recorded).all} of this cluster are used by ${taken.directory}.`,
    'Remove this one with `make cluster-down` (same NAME), then start it anew.',
  );
}

async function freeBlock(others: readonly Instance[]): Promise<number> {
  const routes = JSON.parse(await run('ip', ['-json', '-4', 'route', 'show', 'table', 'all'])) as { dst: string }[];
  for (let block = FIRST_BLOCK; block <= LAST_BLOCK; block += 1) {
    const inUse =
      others.some((other) => other.block === block) || routes.some(({ dst }) => dst.startsWith(`10.${block}.`));
    if (!inUse) return block;
  }
  throw new Problem(
    `No free block of addresses between 10.${FIRST_BLOCK}.0.0 and 10.${LAST_BLOCK}.0.0.`,
    `Stop clusters that are no longer needed: ${RUN_ROOT} lists them, \`make cluster-down\` in their clone removes them.`,
  );
}
