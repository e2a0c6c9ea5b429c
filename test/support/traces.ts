/** Everything that a cluster could leave on the machine, looked for from outside, without the launcher's own eyes. */
import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { run } from '../../devcluster/command.ts';
import type { Instance } from '../../devcluster/instance.ts';

/** Where the programs of a node write if nobody stops them. */
const PLACES = [
  '/etc/cni',
  '/etc/containerd',
  '/opt/cni',
  '/opt/containerd',
  '/run/containerd',
  '/run/memcached-devcluster',
  '/run/netns',
  '/run/nri',
  '/run/xtables.lock',
  '/usr/libexec/kubernetes',
  '/var/lib/calico',
  '/var/lib/cni',
  '/var/lib/containerd',
  '/var/lib/etcd',
  '/var/lib/kubelet',
  '/var/log/containers',
  '/var/log/pods',
];

/** The machine as a list of lines, without what changes by itself. */
export async function machineState(): Promise<string[]> {
  const mounts = (await readFile('/proc/self/mountinfo', 'utf8')).trim().split('\n');
  const lines = [
    ...mounts.map((line) => `mount ${line.split(' ')[4]}`),
    ...(await output('ip', ['-o', 'link'])).map((line) => `link ${line.split(': ')[1]}`),
    ...(await output('ip', ['route'])).map((line) => `route ${line}`),
    ...(await output('iptables-save', [])).filter((line) => !line.startsWith('#')).map((line) => `iptables ${line}`),
    ...(await output('nft', ['list', 'ruleset'])).map((line) => `nft ${line}`),
    ...(await cgroups()).map((directory) => `cgroup ${directory}`),
  ];
  for (const place of PLACES) {
    if (await stat(place).catch(() => undefined)) lines.push(`file ${place}`);
  }
  return lines.toSorted();
}

async function output(program: string, args: readonly string[]): Promise<string[]> {
  return (await run(program, args)).split('\n').filter((line) => line.trim() !== '');
}

async function cgroups(): Promise<string[]> {
  const found = await readdir('/sys/fs/cgroup', { recursive: true });
  return found.filter((directory) => /(^|\/)mcd-[^/]+$/.test(directory));
}

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

/** The namespaces that the processes of the instance live in and this process does not. */
export async function namespacesOf(instance: Instance): Promise<string[]> {
  const found = new Set<string>();
  for (const line of await processesOf(instance, [])) {
    const pid = line.split(' ')[0] ?? '';
    for (const kind of ['net', 'mnt']) {
      const own = await readlink(`/proc/self/ns/${kind}`);
      const link = await readlink(`/proc/${pid}/ns/${kind}`).catch(() => own);
      if (link !== own) found.add(link);
    }
  }
  return [...found];
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
