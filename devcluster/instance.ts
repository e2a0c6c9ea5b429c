/** One embedded cluster: its name, where its files are, and the addresses that are its alone. */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { run } from './command.ts';
import { withLock } from './lock.ts';
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
}

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

/** The instance of that name under that root, with the block of addresses that it has or gets now. */
export async function claimInstance(root: string, name: string): Promise<Instance> {
  checkName(name);
  const directory = instanceDirectory(root, name);
  const instance = { name, id: idOf(name, directory), directory };
  return withLock('instances', async () => {
    const others = (await registeredInstances()).filter(({ id }) => id !== instance.id);
    const block = (await recordedBlock(directory, others)) ?? (await freeBlock(others));
    const claimed: Instance = { ...instance, runDirectory: path.join(RUN_ROOT, instance.id), block };
    for (const place of [claimed.directory, claimed.runDirectory]) {
      await mkdir(place, { recursive: true });
      await writeFile(path.join(place, 'instance.json'), JSON.stringify(claimed, undefined, 2));
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

function idOf(name: string, directory: string): string {
  return `mcd-${name}-${createHash('sha256').update(directory).digest('hex').slice(0, 6)}`;
}

/** What instances this machine knows of, running or left behind. */
export async function registeredInstances(): Promise<Instance[]> {
  const found: Instance[] = [];
  for (const entry of await readdir(RUN_ROOT).catch(() => [])) {
    const instance = await readInstance(path.join(RUN_ROOT, entry));
    if (instance) found.push(instance);
  }
  return found;
}

/** The instance of that name, if there is anything of it. */
export async function findInstance(root: string, name: string): Promise<Instance | undefined> {
  checkName(name);
  const directory = instanceDirectory(root, name);
  return (await readInstance(path.join(RUN_ROOT, idOf(name, directory)))) ?? (await readInstance(directory));
}

/** Instances whose clone was deleted under them: nobody can stop them by name any more. */
export async function orphans(): Promise<Instance[]> {
  const found: Instance[] = [];
  for (const instance of await registeredInstances()) {
    const exists = await stat(path.join(instance.directory, 'instance.json')).then(
      () => true,
      () => false,
    );
    if (!exists) found.push(instance);
  }
  return found;
}

async function readInstance(place: string): Promise<Instance | undefined> {
  try {
    return JSON.parse(await readFile(path.join(place, 'instance.json'), 'utf8')) as Instance;
  } catch {
    return undefined;
  }
}

async function recordedBlock(directory: string, others: readonly Instance[]): Promise<number | undefined> {
  const recorded = await readInstance(directory);
  if (!recorded) return undefined;
  const taken = others.find(({ block }) => block === recorded.block);
  if (!taken) return recorded.block;
  throw new Problem(
    `The addresses ${addresses(recorded).all} of this cluster were given to ${taken.directory} while it was down.`,
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
