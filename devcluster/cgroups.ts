/** The cgroups under which a node's pods run: one tree per instance, in every hierarchy that the kernel has. */
import { readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Instance } from './instance.ts';
import { Problem } from './problem.ts';

/** What a kubelet takes as its cgroup root. */
export function cgroupRoot(instance: Instance, node: string): string {
  return `/${instance.id}/${node}`;
}

export async function ensureCgroups(instance: Instance, node: string): Promise<void> {
  for (const hierarchy of await hierarchies()) {
    let directory = hierarchy;
    for (const level of [instance.id, node]) {
      const parent = directory;
      directory = path.join(parent, level);
      await handDownControllers(parent);
      await mkdir(directory, { recursive: true });
      await inheritCpuset(parent, directory);
    }
  }
}

/** What a kubelet cannot do without. */
const NEEDED = ['cpu', 'cpuset', 'memory', 'pids'];

function readControl(file: string): string[] {
  return readFileSync(file, 'utf8').trim().split(' ');
}

/** Version 2: a cgroup has the controllers that its parent hands down. Version 1 has no such file. */
async function handDownControllers(parent: string): Promise<void> {
  const controllers = await readFile(path.join(parent, 'cgroup.controllers'), 'utf8').catch(() => '');
  const known = controllers.trim().split(' ').filter(Boolean);
  // One by one: a controller that cannot be handed down must not keep the others from it.
  const control = path.join(parent, 'cgroup.subtree_control');
  for (const name of known) await writeFile(control, `+${name}`).catch(() => {});
  const missing = NEEDED.filter((name) => known.includes(name) && !readControl(control).includes(name));
  if (missing.length === 0) return;
  throw new Problem(
    `The kernel does not hand the cgroup controllers ${missing.join(', ')} down from ${parent}.`,
    'Run on a machine of its own or in a virtual machine; a container gets no cgroups to divide.',
  );
}

/** Version 1: a new cpuset has no cores and no memory until someone says which. In version 2, empty means inherited. */
async function inheritCpuset(parent: string, directory: string): Promise<void> {
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    const inherited = await readFile(path.join(parent, file), 'utf8').catch(() => '');
    if (inherited.trim() !== '') await writeFile(path.join(directory, file), inherited);
  }
}

/** The processes of all pods of the instance. */
export async function processesInCgroups(instance: Instance): Promise<number[]> {
  const found = new Set<number>();
  for (const directory of await treesOf(instance)) {
    const text = await readFile(path.join(directory, 'cgroup.procs'), 'utf8').catch(() => '');
    for (const pid of text.split('\n').filter(Boolean)) found.add(Number(pid));
  }
  return [...found];
}

/** Removes the tree, leaves first. The kernel may need a moment to let go of processes that have just ended. */
export async function removeCgroups(instance: Instance): Promise<void> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const trees = await treesOf(instance);
    if (trees.length === 0) return;
    for (const directory of trees.toSorted((a, b) => b.length - a.length)) await rmdir(directory).catch(() => {});
    await sleep(100);
  }
  throw new Error(`cgroups of ${instance.id} are still in use: ${(await treesOf(instance)).join(', ')}`);
}

async function treesOf(instance: Instance): Promise<string[]> {
  const found: string[] = [];
  for (const hierarchy of await hierarchies()) found.push(...(await treeUnder(path.join(hierarchy, instance.id))));
  return found;
}

/** The directory and all below it. They may vanish while we look: what ends takes its cgroup with it. */
async function treeUnder(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => undefined);
  if (!entries) return [];
  const found = [directory];
  for (const entry of entries)
    if (entry.isDirectory()) found.push(...(await treeUnder(path.join(directory, entry.name))));
  return found;
}

/** Version 2 is one hierarchy, version 1 has one per controller, and a machine may have both. */
async function hierarchies(): Promise<string[]> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
  const mounts = lines.map((line) => ({
    mount: line.split(' ')[4] ?? '',
    type: line.split(' - ')[1]?.split(' ')[0] ?? '',
  }));
  return mounts.filter(({ type }) => type === 'cgroup' || type === 'cgroup2').map(({ mount }) => mount);
}
