/** Writes directory trees as a container image: one tar in the OCI layout, which `ctr images import` takes. */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { header, padding, trailer, treeTar } from './tar.ts';

export interface ImageConfig {
  /** As the published image has it: a name here makes the kubelet ask for runAsUser, a number does not. */
  readonly user: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: readonly string[];
  readonly ports?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
}

/** What the file of an image is called. */
export const imageFile = 'image.tar';

interface Blob {
  readonly digest: string;
  readonly size: number;
  readonly content: () => AsyncIterable<Buffer> | Iterable<Buffer>;
}

/** A blob's name is its digest, so a layer must be whole before it goes into the archive: until then it is a file. */
interface Layer extends Blob {
  readonly file: string;
}

export interface Image {
  readonly reference: string;
  readonly config: ImageConfig;
  /** Directories, each a layer over those before it. */
  readonly layers: readonly string[];
}

/** Leaves the image file in the directory, and tells the digest of the image. */
export async function writeImage(directory: string, image: Image, signal: AbortSignal): Promise<string> {
  const layers: Layer[] = [];
  for (const [index, root] of image.layers.entries()) {
    layers.push(await layerBlob(root, path.join(directory, `layer-${index}.tar`), signal));
  }
  const config = jsonBlob(configuration(image.config, layers));
  const manifest = jsonBlob({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: descriptor('application/vnd.oci.image.config.v1+json', config),
    layers: layers.map((layer) => descriptor('application/vnd.oci.image.layer.v1.tar', layer)),
  });
  const index = jsonBlob({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.index.v1+json',
    manifests: [
      {
        ...descriptor('application/vnd.oci.image.manifest.v1+json', manifest),
        platform: platform(),
        annotations: {
          'io.containerd.image.name': image.reference,
          'org.opencontainers.image.ref.name': image.reference.slice(image.reference.lastIndexOf(':') + 1),
        },
      },
    ],
  });
  const archive = layout([config, ...layers, manifest], index);
  await pipeline(archive, createWriteStream(path.join(directory, imageFile)), { signal });
  for (const { file } of layers) await rm(file);
  return manifest.digest;
}

async function* layout(blobs: readonly Blob[], index: Blob): AsyncGenerator<Buffer> {
  yield* entry('oci-layout', jsonBlob({ imageLayoutVersion: '1.0.0' }));
  yield* entry('index.json', index);
  yield header({ name: 'blobs/', mode: 0o755 });
  yield header({ name: 'blobs/sha256/', mode: 0o755 });
  for (const blob of blobs) yield* entry(blob.digest.replace('sha256:', 'blobs/sha256/'), blob);
  yield trailer();
}

async function* entry(name: string, blob: Blob): AsyncGenerator<Buffer> {
  yield header({ name, mode: 0o644, size: blob.size });
  yield* blob.content();
  yield padding(blob.size);
}

/** No creation time: the same content must give the same digest. */
function configuration(config: ImageConfig, layers: readonly Layer[]): unknown {
  return {
    ...platform(),
    config: {
      User: config.user,
      Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', ...(config.environment ?? [])],
      ...(config.entrypoint && { Entrypoint: config.entrypoint }),
      ...(config.command && { Cmd: config.command }),
      ...(config.ports && { ExposedPorts: Object.fromEntries(config.ports.map((port) => [port, {}])) }),
      ...(config.labels && { Labels: config.labels }),
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => digest) },
  };
}

function platform(): { architecture: string; os: string } {
  return { architecture: process.arch === 'x64' ? 'amd64' : process.arch, os: 'linux' };
}

function descriptor(mediaType: string, { digest, size }: Blob): object {
  return { mediaType, digest, size };
}

function jsonBlob(value: unknown): Blob {
  const bytes = Buffer.from(JSON.stringify(value));
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  return { digest, size: bytes.length, content: () => [bytes] };
}

async function layerBlob(root: string, file: string, signal: AbortSignal): Promise<Layer> {
  const hash = createHash('sha256');
  let size = 0;
  const counted = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      hash.update(chunk);
      size += chunk.length;
      yield chunk;
    }
  };
  await pipeline(treeTar(root), counted, createWriteStream(file), { signal });
  return { digest: `sha256:${hash.digest('hex')}`, size, content: () => createReadStream(file), file };
}
