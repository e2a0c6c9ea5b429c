/** The cgroups under which a node's pods run: one tree per instance, in every hierarchy that the kernel has. */
import { mkdir, readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Instance } from './instance.ts';

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

/** Version 2: a cgroup has the controllers that its parent hands down. Version 1 has no such file. */
async function handDownControllers(parent: string): Promise<void> {
  const controllers = await readFile(path.join(parent, 'cgroup.controllers'), 'utf8').catch(() => '');
  const wanted = controllers.trim().split(' ').filter(Boolean);
  if (wanted.length === 0) return;
  await writeFile(path.join(parent, 'cgroup.subtree_control'), wanted.map((name) => `+${name}`).join(' '));
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
  for (const hierarchy of await hierarchies()) {
    const top = path.join(hierarchy, instance.id);
    if (!(await stat(top).catch(() => undefined))) continue;
    found.push(top);
    for (const entry of await readdir(top, { recursive: true, withFileTypes: true })) {
      if (entry.isDirectory()) found.push(path.join(entry.parentPath, entry.name));
    }
  }
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
