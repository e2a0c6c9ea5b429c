/** The processes of a cluster, looked for from outside, without the launcher's own eyes. */
import { openSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Instance } from '../../devcluster/instance.ts';

/** Processes that belong to the instance: by their command line, their cgroup, or by living in one of its namespaces. */
export async function processesOf(instance: Instance, namespaces: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    const commandLine = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' ');
    if (commandLine === '') continue; // a kernel thread, or a process that has ended
    const links = await Promise.all(['net', 'mnt'].map((kind) => readlink(`/proc/${pid}/ns/${kind}`).catch(() => '')));
    const cgroup = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
    const isInside = links.some((link) => namespaces.includes(link)) || cgroup.includes(`/${instance.id}/`);
    if (isInside || commandLine.includes(`${instance.directory}/`)) found.push(`${pid} ${commandLine}`);
  }
  return found;
}

/** The namespaces that the processes of the instance live in and this process does not, each with a file that leads to it. */
async function namespaceFiles(instance: Instance): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const line of await processesOf(instance, [])) {
    const pid = line.split(' ')[0] ?? '';
    for (const kind of ['net', 'mnt']) {
      const file = `/proc/${pid}/ns/${kind}`;
      const own = await readlink(`/proc/self/ns/${kind}`);
      const link = await readlink(file).catch(() => own);
      if (link !== own && !found.has(link)) found.set(link, file);
    }
  }
  return found;
}

export async function namespacesOf(instance: Instance): Promise<string[]> {
  return [...(await namespaceFiles(instance)).keys()];
}

/**
 * For those who look whether anything is left of them. They are kept open as long as this process lives: the kernel gives the number
 * of one that is gone to the next, which may be another cluster's.
 */
export async function keptNamespacesOf(instance: Instance): Promise<string[]> {
  const kept: string[] = [];
  for (const [namespace, file] of await namespaceFiles(instance)) {
    try {
      openSync(file, 'r');
      kept.push(namespace);
    } catch {
      // Its only process has just ended.
    }
  }
  return kept;
}

/** Whether any process on the machine still keeps one of the namespaces alive by a mount. */
export async function pinnedNamespaces(namespaces: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const mounts = await readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => '');
    for (const name of namespaces) if (mounts.includes(` ${name} `)) found.push(`${name} in ${pid}`);
  }
  return found;
}

/** Pids by name; "" for what does not run. A name is a program's, and "-1" or "-2" behind it says of which node. */
export async function pidsOf(instance: Instance, names: readonly string[]): Promise<Record<string, string>> {
  const lines = await processesOf(instance, await namespacesOf(instance));
  const pidOf = (name: string) => {
    const [, program, node] = /^(.*?)(-[12])?$/.exec(name) ?? [];
    const line = lines.find((text) => text.includes(`/${program} `) && (!node || text.includes(`/node${node}/`)));
    return line?.split(' ')[0] ?? '';
  };
  return Object.fromEntries(names.map((name) => [name, pidOf(name)]));
}

/** As `kill -9`; waits until it has ended, which takes a large one a while. A process that has ended already, e.g. with its parent, is fine. */
export async function killHard(pid: string | undefined): Promise<void> {
  if (!pid) throw new Error('there is no process to kill'); // 0 would be ourselves
  try {
    process.kill(Number(pid), 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
  while (!(await hasEnded(pid))) await sleep(10);
}

/** Gone, or nothing but a zombie that waits for its parent. */
async function hasEnded(pid: string): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const state = stat.slice(stat.lastIndexOf(')') + 2)[0] ?? 'X';
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  return state === 'X' || (state === 'Z' && threads.length <= 1);
}
