/** The image of the bundle for the Operator Lifecycle Manager, built without Docker: the files of bundle/, and labels that say what they are. */
import { cp, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'yaml';
import { imageFile, writeImage } from '../devcluster/images/oci.ts';
import type { BuiltImage } from './image.ts';

const BUNDLE = path.join(path.dirname(import.meta.dirname), 'bundle');
const PARTS = ['manifests', 'metadata'];

/** Writes the image as an OCI archive to the file. */
export async function buildBundleImage(reference: string, file: string, signal: AbortSignal): Promise<BuiltImage> {
  const metadata = await readFile(path.join(BUNDLE, 'metadata/annotations.yaml'), 'utf8');
  const { annotations: labels } = parse(metadata) as { annotations: Record<string, string> };
  await mkdir(path.dirname(file), { recursive: true });
  const work = await mkdtemp(`${file}.unfinished-`);
  try {
    const root = path.join(work, 'root');
    for (const part of PARTS) await cp(path.join(BUNDLE, part), path.join(root, part), { recursive: true });
    const digest = await writeImage(work, { reference, layers: [root], config: { user: '', labels } }, signal);
    await rename(path.join(work, imageFile), file); // whole, or not at all
    return { file, digest };
  } finally {
    await rm(work, { recursive: true });
  }
}
