/** Root directories made of Debian packages, and programs run inside them. */
import { chmod, glob, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { run } from '../command.ts';
import type { BuildContext } from '../parts.ts';
import { Problem } from '../problem.ts';

/** Unpacks packages. None of their installation scripts runs. */
export async function unpack(debs: readonly string[], root: string, { signal }: BuildContext): Promise<void> {
  await mkdir(root, { recursive: true });
  for (const deb of debs) await run('dpkg-deb', ['--extract', deb, root], { signal });
}

/** Removes what no program of ours reads at run time. */
export async function slim(root: string): Promise<void> {
  const needless = ['usr/share', 'usr/lib/*/gconv', 'etc/{init.d,default,bash_completion.d,systemd}', 'lib/systemd'];
  for await (const found of glob(needless, { cwd: root })) {
    await rm(path.join(root, found), { recursive: true });
  }
}

/** What `kubectl exec` should find in an image. */
const applets = 'cat dd env grep head hostname id ls nc nslookup ps sh sleep tail wget'.split(' ');

/** Gives busybox, whose package was unpacked, the names of its programs. */
export async function linkBusybox(root: string): Promise<void> {
  for (const applet of applets) await symlink('busybox', path.join(root, 'bin', applet));
}

export interface User {
  readonly name: string;
  readonly id: number;
}

/** The few files that programs expect of any system. */
export async function addBasics(root: string, user: User): Promise<void> {
  await mkdir(path.join(root, 'etc'), { recursive: true });
  await mkdir(path.join(root, 'tmp'), { recursive: true });
  await chmod(path.join(root, 'tmp'), 0o1777);
  const passwd = `root:x:0:0:root:/root:/bin/sh\n${user.name}:x:${user.id}:${user.id}::/tmp:/bin/sh\n`;
  await writeFile(path.join(root, 'etc/passwd'), passwd);
  await writeFile(path.join(root, 'etc/group'), `root:x:0:\n${user.name}:x:${user.id}:\n`);
  await writeFile(path.join(root, 'etc/nsswitch.conf'), 'passwd: files\ngroup: files\nhosts: files dns\n');
}

/**
 * Runs a program inside a root, without network and without this machine's environment.
 * The mounts live in a namespace of the program's own: the kernel takes them away with it, however it ends.
 */
export async function runInside(root: string, command: readonly string[], context: BuildContext): Promise<string> {
  if (process.getuid?.() !== 0) {
    throw new Problem('Images can only be built as root.', 'Start again as root, for example with sudo.');
  }
  await mkdir(path.join(root, 'dev'), { recursive: true });
  const enter = [
    'mount -t tmpfs none "$0/dev"',
    ': >"$0/dev/null"',
    'mount --bind /dev/null "$0/dev/null"',
    'exec env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C chroot "$0" "$@"',
  ].join(' && ');
  return run('unshare', ['--mount', '--net', 'sh', '-c', enter, root, ...command], { signal: context.signal });
}
