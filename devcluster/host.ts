/** What the machine itself must have, checked before anything is started, and installed where that is possible. */
import { access, mkdir, statfs } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { environment, run } from './command.ts';
import { Problem } from './problem.ts';

/** Debian packages, each with a file that tells that it, or something equal, is there. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  runc: ['runc'],
  'containernetworking-plugins': ['/usr/lib/cni/ptp', '/opt/cni/bin/ptp'],
  iptables: ['iptables'],
  nftables: ['nft'],
  iproute2: ['ip'],
  'util-linux': ['nsenter'],
};

/** Everything that only root may do starts here. */
export function requireRoot(): void {
  if (process.getuid?.() === 0) return;
  throw new Problem(
    'The embedded cluster needs root: it makes network namespaces, mounts and cgroups.',
    'Run the same command as root (sudo env "PATH=$PATH" make …), or set KUBECONFIG to a cluster that you have and use `make demo`.',
  );
}

/** Installs the Debian packages that are missing. */
export async function ensurePackages(signal: AbortSignal, say: (line: string) => void): Promise<void> {
  const missing: string[] = [];
  for (const [name, files] of Object.entries(PACKAGES)) if (!(await anyExists(files))) missing.push(name);
  if (missing.length === 0) return;
  const byHand = `Install them with your package manager: ${missing.join(' ')}.`;
  if (!(await isInstalled('apt-get')))
    throw new Problem(`Missing on this machine: ${missing.join(', ')}, and there is no apt-get.`, byHand);
  say(`installing Debian packages: ${missing.join(' ')}`);
  const options = { signal, env: { DEBIAN_FRONTEND: 'noninteractive' } };
  const apt = ['-q', '-y', '-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=3'];
  try {
    await run('apt-get', [...apt, 'update'], options);
    await run('apt-get', [...apt, 'install', '--no-install-recommends', ...missing], options);
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Problem(
      `apt-get could not install ${missing.join(', ')}: ${textOf(error)}`,
      `Check that the package archive answers. ${byHand}`,
      { cause: error },
    );
  }
}

/** Go builds the parts; an older one fetches the release that a module asks for. */
export async function requireGo(): Promise<void> {
  const remedy =
    'Install Go 1.26 or later (1.21 is enough where it may fetch newer releases by itself) and put it on the PATH.';
  if (!(await isInstalled('go')))
    throw new Problem('Go is not installed, and the parts of the cluster are built with it.', remedy);
  const version = (await run('go', ['env', 'GOVERSION'], { env: { GOTOOLCHAIN: 'local' } })).trim();
  const minor = Number(/^go1\.(\d+)/.exec(version)?.[1]);
  if (!(minor >= 21)) throw new Problem(`The Go on the PATH is ${version}, which is too old.`, remedy);
}

/** Where Go keeps what it downloads and compiles; these grow more than our own cache. */
export async function goCaches(): Promise<string[]> {
  return (await run('go', ['env', 'GOCACHE', 'GOMODCACHE'])).trim().split('\n');
}

/** Asks for room before a build or a start fills the disk. */
export async function requireSpace(directories: readonly string[], gib: number, purpose: string): Promise<void> {
  for (const directory of directories) {
    await mkdir(directory, { recursive: true });
    const { bavail, bsize } = await statfs(directory);
    const free = (bavail * bsize) / 2 ** 30;
    if (free >= gib) continue;
    throw new Problem(
      `${purpose} needs about ${gib} GiB of free disk; ${directory} has ${free.toFixed(1)} GiB.`,
      'Free some space, or move the caches to a larger disk: DEVCLUSTER_CACHE, GOCACHE and GOMODCACHE name their places.',
    );
  }
}

/** Whether the program is on the PATH. */
export function isInstalled(program: string): Promise<boolean> {
  return anyExists([program]);
}

async function anyExists(files: readonly string[]): Promise<boolean> {
  const directories = (environment()['PATH'] ?? '').split(delimiter);
  const candidates = files.flatMap((file) =>
    file.startsWith('/') ? [file] : directories.map((directory) => join(directory, file)),
  );
  const found = await Promise.all(
    candidates.map((file) =>
      access(file).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.includes(true);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
