/** Everything but processes that a cluster could leave on the machine, looked for from outside, without the launcher's own eyes. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { run } from '../../devcluster/command.ts';
import type { Instance } from '../../devcluster/instance.ts';

const REGISTRY = '/run/memcached-devcluster';

/** What clusters share: it goes with the last of them. */
const SHARED = [REGISTRY, '/run/containerd', '/var/lib/cni', '/var/lib/kubelet', '/var/log/containers'];

/** Where the programs of a node write if nobody stops them. */
const PLACES = [
  ...SHARED,
  '/etc/cni',
  '/etc/containerd',
  '/opt/cni',
  '/opt/containerd',
  '/run/netns',
  '/run/nri',
  '/run/xtables.lock',
  '/usr/libexec/kubernetes',
  '/var/lib/calico',
  '/var/lib/containerd',
  '/var/lib/etcd',
  '/var/log/pods',
];

export interface MachineState {
  readonly lines: ReadonlySet<string>;
  /** The ids of all clusters on the machine. */
  readonly clusters: ReadonlySet<string>;
}

/** The machine as a set of lines, without what changes by itself. */
export async function machineState(): Promise<MachineState> {
  const earlier = await clusters();
  const mounts = (await readFile('/proc/self/mountinfo', 'utf8')).trim().split('\n');
  const lines = [
    ...mounts.map((line) => `mount ${line.split(' ')[4]}`),
    ...(await output('ip', ['-o', 'link'])).map((line) => `link ${line.split(': ')[1]}`),
    ...(await output('ip', ['route', 'show', 'table', 'all'])).map((line) => `route ${withoutVolatile(line)}`),
    ...(await output('iptables-save', [])).map((line) => `iptables ${withoutVolatile(line)}`),
    ...(await output('nft', ['--stateless', 'list', 'ruleset'])).map((line) => `nft ${withoutVolatile(line)}`),
    ...(await cgroups()).map((directory) => `cgroup ${directory}`),
  ];
  for (const place of PLACES) {
    if (await stat(place).catch(() => undefined)) lines.push(`file ${place}`);
  }
  return { lines: new Set(numbered(lines)), clusters: new Set([...earlier, ...(await clusters())]) };
}

/** Tells equal lines apart: two mounts on the same place are one too many. */
function numbered(lines: readonly string[]): string[] {
  const seen = new Map<string, number>();
  return lines.map((line) => {
    const count = (seen.get(line) ?? 0) + 1;
    seen.set(line, count);
    return count === 1 ? line : `${line} (${count})`;
  });
}

/** What has come (+) and gone (-) since then. Clusters other than these, e.g. a demo, may come and go meanwhile. */
export async function changesSince(before: MachineState, own: readonly Pick<Instance, 'id'>[]): Promise<string[]> {
  const after = await machineState();
  const ownIds = new Set(own.map(({ id }) => id));
  const foreign = [...before.clusters.union(after.clusters).difference(ownIds)];
  const isForeign = (line: string) =>
    foreign.some((id) => line.includes(id) || line.includes(hostLink(id))) ||
    (foreign.length > 0 && SHARED.some((place) => line === `file ${place}`));
  return [
    ...[...after.lines.difference(before.lines)].map((line) => `+ ${line}`),
    ...[...before.lines.difference(after.lines)].map((line) => `- ${line}`),
  ].filter((line) => !isForeign(line.slice(2)));
}

async function clusters(): Promise<string[]> {
  return (await readdir(REGISTRY).catch(() => [])).filter((name) => name.startsWith('mcd-'));
}

/** The interface that joins a cluster to the host. */
function hostLink(id: string): string {
  return `mcd${id.slice(-6)}`;
}

/** Counters of firewalls, and how long a route that a router has announced is still good. */
export function withoutVolatile(line: string): string {
  return line
    .replace(/^#.*$/, '#') // iptables-save says when it ran
    .replace(/\[\d+:\d+\]/, '[]')
    .replace(/counter packets \d+ bytes \d+/, 'counter')
    .replace(/ expires \d+sec/, '');
}

async function output(program: string, args: readonly string[]): Promise<string[]> {
  return (await run(program, args)).split('\n').filter((line) => line.trim() !== '');
}

/** Those of pods come and go while we look. */
async function cgroups(): Promise<string[]> {
  return output('find', ['/sys/fs/cgroup', '-ignore_readdir_race', '-type', 'd', '-name', 'mcd-*']);
}
