/** Writes a directory tree as a container image: one tar in the OCI layout, which `ctr images import` takes. */
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
}

/** What the file of an image is called. */
export const imageFile = 'image.tar';

interface Blob {
  readonly digest: string;
  readonly size: number;
  readonly content: () => AsyncIterable<Buffer> | Iterable<Buffer>;
}

/** Leaves the image file in the directory. */
export async function writeImage(
  directory: string,
  image: { readonly reference: string; readonly root: string; readonly config: ImageConfig },
  signal: AbortSignal,
): Promise<void> {
  const layerFile = path.join(directory, 'layer.tar'); // a blob's name is its digest, so the layer must be whole first
  const layer = await layerBlob(image.root, layerFile, signal);
  const config = jsonBlob(configuration(image.config, layer.digest));
  const manifest = jsonBlob({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: descriptor('application/vnd.oci.image.config.v1+json', config),
    layers: [descriptor('application/vnd.oci.image.layer.v1.tar', layer)],
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
  const archive = layout([config, layer, manifest], index);
  await pipeline(archive, createWriteStream(path.join(directory, imageFile)), { signal });
  await rm(layerFile);
}

async function* layout(blobs: readonly Blob[], index: Blob): AsyncGenerator<Buffer> {
  yield* file('oci-layout', jsonBlob({ imageLayoutVersion: '1.0.0' }));
  yield* file('index.json', index);
  yield header({ name: 'blobs/', mode: 0o755 });
  yield header({ name: 'blobs/sha256/', mode: 0o755 });
  for (const blob of blobs) yield* file(blob.digest.replace('sha256:', 'blobs/sha256/'), blob);
  yield trailer();
}

async function* file(name: string, blob: Blob): AsyncGenerator<Buffer> {
  yield header({ name, mode: 0o644, size: blob.size });
  yield* blob.content();
  yield padding(blob.size);
}

/** No creation time: the same content must give the same digest. */
function configuration(config: ImageConfig, layerDigest: string): unknown {
  return {
    ...platform(),
    config: {
      User: config.user,
      Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', ...(config.environment ?? [])],
      ...(config.entrypoint && { Entrypoint: config.entrypoint }),
      ...(config.command && { Cmd: config.command }),
      ...(config.ports && { ExposedPorts: Object.fromEntries(config.ports.map((port) => [port, {}])) }),
    },
    rootfs: { type: 'layers', diff_ids: [layerDigest] },
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

async function layerBlob(root: string, target: string, signal: AbortSignal): Promise<Blob> {
  const hash = createHash('sha256');
  let size = 0;
  const counted = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      hash.update(chunk);
      size += chunk.length;
      yield chunk;
    }
  };
  await pipeline(treeTar(root), counted, createWriteStream(target), { signal });
  return { digest: `sha256:${hash.digest('hex')}`, size, content: () => createReadStream(target) };
}
