/** Network and mount namespaces: what happens in an instance stays in it, and goes with it. */
import { mkdir, readdir, readFile, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { run } from './command.ts';
import { addresses, type Instance, RUN_ROOT } from './instance.ts';

/** Where node programs write without being asked; each node gets its own, empty and private. */
const PRIVATE_PLACES = ['/run/containerd', '/var/lib/cni', '/var/lib/kubelet', '/var/log/containers'];

/** A namespace lives as long as it is mounted somewhere: here. */
export function networkNamespace(instance: Instance): string {
  return path.join(instance.runDirectory, 'network');
}

function mountNamespace(instance: Instance, node: string): string {
  return path.join(instance.runDirectory, 'mounts', node);
}

/**
 * For the beginning of a private mount namespace: its copies of network pins would keep dead clusters' networks alive.
 * A cluster that is removed in this very moment takes the copies with its pin, which is fine.
 */
export const FORGET_NETWORKS = `{ awk '$5 ~ "^${RUN_ROOT}/[^/]*/network$" { print $5 }' /proc/self/mountinfo | xargs -r -n 1 umount -q || true; }`;

/** A network of its own, joined to the host by one pair of interfaces. */
export async function ensureNetwork(instance: Instance, nodes: number): Promise<void> {
  const pin = networkNamespace(instance);
  if (await isComplete(pin)) return;
  const { host, apiserver, dns, node, all, services } = addresses(instance);
  const link = hostLink(instance);
  await run('ip', ['link', 'delete', link]).catch(() => {}); // left by a start that was interrupted
  await writeFile(pin, '');
  await run('unshare', [`--net=${pin}`, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward']);
  await run('ip', ['link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', pin]);
  const own = [apiserver, dns, ...Array.from({ length: nodes }, (_, index) => node(index + 1))];
  await batch(pin, [
    ...own.map((address) => `address add ${address}/24 dev eth0`),
    'link set lo up',
    'link set eth0 up',
    // A packet needs a route before kube-proxy rewrites its address. No default route: nothing leaves this machine.
    `route add ${services} dev eth0 src ${apiserver}`,
  ]);
  await batch(undefined, [
    `address add ${host}/24 dev ${link}`,
    `link set ${link} up`,
    `route add ${all} via ${apiserver}`,
  ]);
  await complete(pin);
}

/** Many commands of `ip` in one process, here or in a namespace. */
async function batch(namespace: string | undefined, commands: readonly string[]): Promise<void> {
  const enter = namespace === undefined ? [] : [`--net=${namespace}`];
  await run('nsenter', [...enter, 'ip', '-batch', '-'], { input: commands.join('\n') });
}

function hostLink(instance: Instance): string {
  return `mcd${instance.id.slice(-6)}`; // an interface name has 15 characters at most
}

/** A mount namespace that outlives its processes, so that a killed node comes back to the mounts of its pods. */
export async function ensureMounts(instance: Instance, node: string): Promise<string> {
  const pin = mountNamespace(instance, node);
  if (await isComplete(pin)) return pin;
  for (const place of PRIVATE_PLACES) await mkdir(place, { recursive: true });
  await preparePin(pin);
  const script = [FORGET_NETWORKS, ...PRIVATE_PLACES.map((place) => `mount -t tmpfs -o mode=0755 tmpfs ${place}`)].join(
    ' && ',
  );
  await run('unshare', [`--mount=${pin}`, '--propagation', 'private', 'sh', '-c', script]);
  await complete(pin);
  return pin;
}

/** A mount namespace can only be pinned on a mount that is itself private. */
async function preparePin(pin: string): Promise<void> {
  const directory = path.dirname(pin);
  await mkdir(directory, { recursive: true });
  if (!(await isMounted(directory))) {
    await run('mount', ['--bind', directory, directory]);
    await run('mount', ['--make-private', directory]);
  }
  await writeFile(pin, '');
}

/** Lets go of the namespaces, and with them of every mount, interface, route and firewall rule of the instance. */
export async function removeNamespaces(instance: Instance): Promise<void> {
  for (const mount of (await mountsUnder(instance.runDirectory)).toReversed()) await run('umount', ['--lazy', mount]);
  await run('ip', ['link', 'delete', hostLink(instance)]).catch(() => {}); // usually gone with its peer
}

/** The places on the host that had to exist to be mounted over, unless somebody uses them. */
export async function removePrivatePlaces(): Promise<void> {
  for (const place of PRIVATE_PLACES) await rmdir(place).catch(() => {});
}

/** All processes that live in a namespace of the instance. */
export async function processesInNamespaces(instance: Instance): Promise<number[]> {
  const inodes = new Set<number>();
  for (const pin of await mountsUnder(instance.runDirectory)) inodes.add((await stat(pin)).ino);
  const found: number[] = [];
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    for (const kind of ['net', 'mnt']) {
      const info = await stat(`/proc/${entry}/ns/${kind}`).catch(() => undefined);
      if (info && inodes.has(info.ino)) found.push(Number(entry));
    }
  }
  return [...new Set(found)];
}

async function mountsUnder(directory: string): Promise<string[]> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
  return lines.map((line) => line.split(' ')[4] ?? '').filter((mount) => mount.startsWith(`${directory}/`));
}

/** Whether the namespace was set up to its end. One that was interrupted on the way is let go, to be made anew. */
async function isComplete(pin: string): Promise<boolean> {
  const isMarked = await stat(markOf(pin)).then(
    () => true,
    () => false,
  );
  const isThere = await isMounted(pin);
  if (isThere && isMarked) return true;
  if (isThere) await run('umount', ['--lazy', pin]);
  await rm(markOf(pin), { force: true });
  return false;
}

async function complete(pin: string): Promise<void> {
  await writeFile(markOf(pin), '');
}

function markOf(pin: string): string {
  return `${pin}.complete`;
}

async function isMounted(file: string): Promise<boolean> {
  return (await mountsUnder(path.dirname(file))).includes(file);
}
