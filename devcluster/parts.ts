/** The parts that a cluster is made of, each built once and kept in a cache that only ever holds finished ones. */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { withLock } from './lock.ts';

export interface BuildContext {
  readonly signal: AbortSignal;
  /** Tells what the build is doing right now, in a few words. */
  readonly report: (doing: string) => void;
}

export interface Part {
  readonly name: string;
  readonly version: string;
  /** Everything that asks for a new build when it changes. */
  readonly inputs: readonly string[];
  /** Parts that must be in the cache before this one is built. */
  readonly needs?: readonly Part[];
  /** Parts with the same value share intermediate results, so building two of them at once would do the work twice. */
  readonly oneAtATime?: string;
  /** About how long a build takes on two cores: for the estimate of what is left. */
  readonly seconds: number;
  /** Fills an empty directory. */
  build(directory: string, context: BuildContext): Promise<void>;
}

/** Where finished parts are kept, outside every clone. */
export function cacheDirectory(env: NodeJS.ProcessEnv = process.env): string {
  return (
    env['DEVCLUSTER_CACHE'] ?? path.join(env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'), 'memcached-operator')
  );
}

/** The directory that holds a part once it is built. */
export function partDirectory(part: Part): string {
  return path.join(cacheDirectory(), `${part.name}-${part.version}-${keyOf(part)}`);
}

function keyOf(part: Part): string {
  const hash = createHash('sha256').update(`${process.arch}\0${part.name}\0${part.version}`);
  for (const input of part.inputs) hash.update(`\0${input}`);
  for (const need of part.needs ?? []) hash.update(`\0${keyOf(need)}`);
  return hash.digest('hex').slice(0, 12);
}

/** Whether the cache has the part, whole: every file that the build left, at the size that it had. */
export async function isBuilt(part: Part): Promise<boolean> {
  const directory = partDirectory(part);
  try {
    const sizes = JSON.parse(await readFile(sizesFile(directory), 'utf8')) as Record<string, number>;
    for (const [file, size] of Object.entries(sizes)) {
      if ((await stat(path.join(directory, file))).size !== size) return false;
    }
    return true;
  } catch {
    return false;
  }
}

/** Builds the part unless the cache has it. Two processes that want the same part build it once. */
export async function build(part: Part, context: BuildContext): Promise<void> {
  const waiting = () => context.report('waiting for another process that is building it');
  await withLock(
    `part/${partDirectory(part)}`,
    async () => {
      if (await isBuilt(part)) return;
      const directory = partDirectory(part);
      const unfinished = `${directory}.unfinished`;
      await rm(directory, { recursive: true, force: true });
      await rm(unfinished, { recursive: true, force: true });
      await mkdir(unfinished, { recursive: true });
      try {
        await part.build(unfinished, context);
        await writeFile(sizesFile(unfinished), JSON.stringify(await sizesOf(unfinished), undefined, 2));
      } catch (error) {
        await rm(unfinished, { recursive: true, force: true });
        throw error;
      }
      await rename(unfinished, directory);
    },
    { signal: context.signal, onWait: waiting },
  );
}

function sizesFile(directory: string): string {
  return path.join(directory, '.sizes.json');
}

async function sizesOf(directory: string): Promise<Record<string, number>> {
  const sizes: Record<string, number> = {};
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    sizes[path.relative(directory, file)] = (await stat(file)).size;
  }
  return sizes;
}
