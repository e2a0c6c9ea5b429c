/** The memcached of the image that the operator uses by default, without a container: its user, its file system, its limits. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '../../devcluster/command.ts';
import { imageFile } from '../../devcluster/images/index.ts';
import { memcachedImage } from '../../devcluster/images/memcached.ts';
import { partDirectory } from '../../devcluster/parts.ts';
import { buildMissing } from '../../devcluster/progress.ts';

const PROGRAM = '/usr/local/bin/memcached';
const AS_MEMCACHE = ['--userspec=11211:11211'];

/** How many files a trial may open: nodes differ in this, and memcached refuses more connections than that. */
export const DESCRIPTORS = 16_384;

/** Unpacks the image into a directory that is gone when the tests end. */
export async function memcachedRoot(signal: AbortSignal): Promise<string> {
  const part = memcachedImage();
  await buildMissing([part], signal, process.stdout);
  const directory = await mkdtemp(path.join(tmpdir(), 'memcached-root-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const [image, root] = [path.join(directory, 'image'), path.join(directory, 'root')];
  for (const each of [image, root]) await mkdir(each);
  await run('tar', ['-xf', path.join(partDirectory(part), imageFile), '-C', image], { signal });
  await run('tar', ['-xf', path.join(image, await layerOf(image)), '-C', root], { signal });
  await rm(image, { recursive: true });
  await mkdir(path.join(root, 'dev/shm'), { recursive: true });
  for (const each of [directory, path.join(root, 'tmp')]) await chmod(each, 0o755); // the root of a container is not writable
  return root;
}

interface Manifest {
  readonly manifests: readonly { readonly digest: string }[];
  readonly layers: readonly { readonly digest: string }[];
}

/** The one layer of an image in the OCI layout. */
async function layerOf(image: string): Promise<string> {
  const read = async (file: string) => JSON.parse(await readFile(path.join(image, file), 'utf8')) as Manifest;
  const blob = (digest = '') => digest.replace('sha256:', 'blobs/sha256/');
  const index = await read('index.json');
  const manifest = await read(blob(index.manifests[0]?.digest));
  return blob(manifest.layers[0]?.digest);
}

export interface RunningMemcached {
  stop(): Promise<void>;
}

/** Runs memcached in the network of this machine. Resolves when it accepts connections on the port. */
export async function startMemcached(
  root: string,
  port: number,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<RunningMemcached> {
  const child = spawn('chroot', [...AS_MEMCACHE, root, PROGRAM, ...args], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const lastWords = listen(child);
  const closed = once(child, 'close');
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error(`memcached ended: ${lastWords()}`);
    await sleep(10);
  }
  return {
    async stop() {
      child.kill('SIGKILL');
      await closed;
    },
  };
}

/** What became of it: that it still ran, or its last words. */
export type Fate = 'alive' | { readonly lastWords: string };

/** As in a container, memcached has no descriptor but the usual three: each one that is handed down counts as a connection. */
const CLOSE_OTHERS = 'for fd in $(ls /proc/$$/fd); do [ "$fd" -le 2 ] || eval "exec $fd>&-"; done';

const ENTER = [
  CLOSE_OTHERS,
  'mount -t tmpfs -o mode=1777 none "$0/dev/shm"',
  `exec prlimit --nofile=${DESCRIPTORS}:${DESCRIPTORS} chroot ${AS_MEMCACHE.join(' ')} "$0" ${PROGRAM} "$@"`,
].join(' && ');

/** Starts memcached in a network of its own, and looks at it after so long: on a busy machine the end of it may take a while. */
export async function tryMemcached(root: string, args: readonly string[], ms: number): Promise<Fate> {
  const child = spawn('unshare', ['--net', '--mount', 'bash', '-c', ENTER, root, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const lastWords = listen(child);
  const ended = once(child, 'close').then(
    ([code, signal]): Fate => ({ lastWords: `${lastWords()} (${code ?? signal})` }),
  );
  const isRunning = async () => {
    while (child.exitCode === null && !(await hasStarted(child))) await sleep(20);
    return sleep(ms, 'alive' as const);
  };
  const fate = await Promise.race([ended, isRunning()]);
  child.kill('SIGKILL');
  await ended;
  return fate;
}

/** Whether it is memcached already, and no longer the programs that make its surroundings: on a busy machine that takes a while. */
async function hasStarted({ pid }: ChildProcess): Promise<boolean> {
  const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
  return name.trim() === 'memcached';
}

function listen(child: ChildProcess): () => string {
  let words = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    words = `${words}${chunk}`.slice(-500);
  });
  return () => words.trim();
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isOpen;
}
