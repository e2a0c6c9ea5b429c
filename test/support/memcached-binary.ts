/** The memcached of the image that the operator uses by default, run as a pod would run it: its user, its file system, its limits. */
import { spawn } from 'node:child_process';
import { chmod, mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '../../devcluster/command.ts';
import { imageFile } from '../../devcluster/images/index.ts';
import { memcachedImage } from '../../devcluster/images/memcached.ts';
import { partDirectory } from '../../devcluster/parts.ts';
import { buildMissing } from '../../devcluster/progress.ts';

/** How many files may be open: nodes differ in this, and memcached refuses more connections than that. */
export const DESCRIPTORS = 16_384;

/** Unpacks the image. */
export async function unpackMemcached(directory: string, signal: AbortSignal): Promise<void> {
  const part = memcachedImage();
  await buildMissing([part], signal, process.stdout);
  const blobs = path.join(directory, 'image');
  await mkdir(blobs);
  await run('tar', ['-xf', path.join(partDirectory(part), imageFile), '-C', blobs], { signal });
  const root = path.join(directory, 'root');
  await mkdir(root);
  await run('tar', ['-xf', path.join(blobs, await layerOf(blobs)), '-C', root], { signal });
  await mkdir(path.join(root, 'dev/shm'), { recursive: true });
  await chmod(path.join(root, 'tmp'), 0o755); // as in a container whose root is read-only
}

interface Manifest {
  readonly manifests: readonly { readonly digest: string }[];
  readonly layers: readonly { readonly digest: string }[];
}

/** The one layer of an image in the OCI layout. */
async function layerOf(directory: string): Promise<string> {
  const read = async (file: string) => JSON.parse(await readFile(path.join(directory, file), 'utf8')) as Manifest;
  const blob = (digest = '') => digest.replace('sha256:', 'blobs/sha256/');
  const index = await read('index.json');
  const manifest = await read(blob(index.manifests[0]?.digest));
  return blob(manifest.layers[0]?.digest);
}

/** What became of it: its last words, or that it still ran. */
export type Fate = 'alive' | { readonly lastWords: string };

const ENTER = [
  'mount -t tmpfs -o mode=1777 none "$0/dev/shm"',
  `exec prlimit --nofile=${DESCRIPTORS}:${DESCRIPTORS} chroot --userspec=11211:11211 "$0" /usr/local/bin/memcached "$@"`,
].join(' && ');

/** Starts memcached in a network of its own and looks at it a second later. */
export async function tryMemcached(directory: string, args: readonly string[]): Promise<Fate> {
  const root = path.join(directory, 'root');
  const child = spawn('unshare', ['--net', '--mount', 'sh', '-c', ENTER, root, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    words = `${words}${chunk}`.slice(-500);
  });
  const ended = new Promise<Fate>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ lastWords: `${words.trim()} (${code ?? signal})` }));
  });
  const fate = await Promise.race([ended, sleep(1000, 'alive' as const)]);
  child.kill('SIGKILL');
  await ended;
  return fate;
}
