/** The operator's image, built without Docker: Node and its libraries in one layer, the bundled operator in another. No shell. */
import { cp, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { openDebian } from '../devcluster/images/debian.ts';
import { type ImageConfig, imageFile, writeImage } from '../devcluster/images/oci.ts';
import { addBasics, runInside, slim, unpack } from '../devcluster/images/root.ts';
import { type Part, partDirectory } from '../devcluster/parts.ts';
import { Problem } from '../devcluster/problem.ts';
import { buildMissing, type ProgressOutput } from '../devcluster/progress.ts';
import { bundle } from '../tools/bundle.ts';

const ROOT = path.dirname(import.meta.dirname);
const NODE = path.join(ROOT, 'node_modules', `node-linux-${process.arch}`);
const SCRIPT = '/memcached-operator.mjs';
/** What Node is linked with, as Debian has it. */
const packages = ['libstdc++6'];

/**
 * The flags take 65 MB off what 500 Memcacheds need, and cost no measurable time. Source maps would cost 6 MB all the time;
 * the map is beside the script for whoever wants it: NODE_OPTIONS=--enable-source-maps.
 */
const config: ImageConfig = {
  user: '65532:65532',
  entrypoint: ['/usr/bin/node', '--max-semi-space-size=1', '--optimize-for-size', SCRIPT],
  environment: ['MALLOC_ARENA_MAX=1', 'NODE_ENV=production'],
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
    await bundle(path.join(root, SCRIPT));
    const layers = [path.join(partDirectory(base), 'root'), root];
    const digest = await writeImage(work, { reference, layers, config }, signal);
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

/** Everything but the operator itself: it changes with Node and with Debian only. */
async function nodePart(): Promise<Part> {
  const version = await nodeVersion();
  return {
    name: 'operator-base',
    version,
    inputs: packages,
    oneAtATime: 'debian',
    seconds: 10,
    async build(directory, context) {
      const root = path.join(directory, 'root');
      const debian = await openDebian(context);
      context.report("fetching Node's libraries");
      await unpack(await debian.closure(packages), root, context);
      await slim(root);
      for (const programs of ['bin', 'sbin', 'usr/bin', 'usr/sbin']) {
        await rm(path.join(root, programs), { recursive: true, force: true });
      }
      await addBasics(root, { name: 'operator', id: 65532 });
      await mkdir(path.join(root, 'usr/bin'));
      await cp(path.join(NODE, 'bin/node'), path.join(root, 'usr/bin/node'));
      // A library that is missing shows here, and not first in a pod.
      await runInside(root, ['node', '--version'], context);
    },
  };
}

async function nodeVersion(): Promise<string> {
  try {
    const { version } = JSON.parse(await readFile(path.join(NODE, 'package.json'), 'utf8')) as { version: string };
    return version;
  } catch (error) {
    throw new Problem(
      `There is no Node for the image in ${NODE}.`,
      'Run `npm ci`, on Linux on x86-64 or arm64; then run the same command again.',
      { cause: error },
    );
  }
}
