/** The operator's image, built without Docker: Node and its libraries in one layer, the bundled operator in another. No shell. */
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { type ImageConfig, imageFile, writeImage } from '../devcluster/images/oci.ts';
import { partDirectory } from '../devcluster/parts.ts';
import { Problem } from '../devcluster/problem.ts';
import { buildMissing, type ProgressOutput } from '../devcluster/progress.ts';
import { ownComponent } from '../tools/bill-of-materials.ts';
import { bundle, commitOf } from '../tools/bundle.ts';
import { nodePart, platformOf } from './image-base.ts';

const ROOT = path.dirname(import.meta.dirname);
const SCRIPT = '/memcached-operator.mjs';

export function labels(): Readonly<Record<string, string>> {
  const { name, version, license = '' } = ownComponent(ROOT);
  return {
    'org.opencontainers.image.title': name,
    'org.opencontainers.image.description': 'A Kubernetes operator for Memcached',
    'org.opencontainers.image.source': 'https://github.com/c5c3/memcached-operator',
    'org.opencontainers.image.licenses': license,
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.revision': commitOf(process.env),
  };
}

/**
 * How Node is made to be modest: docs/performance says why. Source maps would cost 6 MB all the time; the map is
 * beside the script for whoever wants it: NODE_OPTIONS=--enable-source-maps.
 */
export const modestNode = {
  flags: [
    '--max-semi-space-size=2',
    '--heap-growing-percent=20',
    '--incremental-marking-soft-trigger=40',
    '--incremental-marking-hard-trigger=50',
    '--single-threaded-gc',
    '--no-separate-gc-phases',
    '--memory-saver-mode',
    '--no-memory-reducer',
    '--no-turbofan',
    '--no-node-snapshot',
    '--expose-gc',
  ],
  environment: { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '32768', NODE_ENV: 'production' },
} as const;

export const config: ImageConfig = {
  user: '65532:65532',
  entrypoint: ['/usr/bin/node', ...modestNode.flags, SCRIPT],
  environment: Object.entries(modestNode.environment).map(([name, value]) => `${name}=${value}`),
  ports: ['8081/tcp', '8443/tcp', '9443/tcp'],
};

export interface BuiltImage {
  readonly file: string;
  /** Of its manifest: the same sources give the same. */
  readonly digest: string;
}

/** Writes the image as an OCI archive to the file. */
export async function buildImage(
  reference: string,
  file: string,
  { signal, output }: { readonly signal: AbortSignal; readonly output: ProgressOutput },
): Promise<BuiltImage> {
  requireTag(reference);
  const base = await nodePart();
  await buildMissing([base], signal, output);
  await mkdir(path.dirname(file), { recursive: true });
  const work = await mkdtemp(`${file}.unfinished-`);
  try {
    const root = path.join(work, 'root');
    const below = path.join(partDirectory(base), 'root');
    await bundle(path.join(root, SCRIPT), { platform: await platformOf(below, base.version) });
    const image = { reference, layers: [below, root], config: { ...config, labels: labels() } };
    const digest = await writeImage(work, image, signal);
    await rename(path.join(work, imageFile), file); // whole, or not at all
    return { file, digest };
  } finally {
    await rm(work, { recursive: true });
  }
}

function requireTag(reference: string): void {
  if (!reference.includes('@')) return;
  throw new Problem(
    `${reference} cannot be built: a digest names what exists already.`,
    'Name the image by a tag, e.g. IMG=ghcr.io/c5c3/memcached-operator:dev.',
  );
}
