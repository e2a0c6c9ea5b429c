/** What is in an image that was written as an OCI archive. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { run } from '../../devcluster/command.ts';

export interface ImageContents {
  readonly config: { readonly User?: string; readonly Labels: Readonly<Record<string, string>> };
  /** Of the files in all layers, without a slash in front. */
  readonly names: readonly string[];
}

/** Unpacks the archive into the directory, and reads the image whose manifest has this digest. */
export async function contentsOf(
  file: string,
  digest: string,
  directory: string,
  signal: AbortSignal,
): Promise<ImageContents> {
  await run('tar', ['-xf', file, '-C', directory], { signal });
  const blob = (of: string) => path.join(directory, 'blobs', of.replace(':', '/'));
  const parsed = async (of: string) => JSON.parse(await readFile(blob(of), 'utf8')) as unknown;
  const manifest = (await parsed(digest)) as { config: { digest: string }; layers: { digest: string }[] };
  const { config } = (await parsed(manifest.config.digest)) as Pick<ImageContents, 'config'>;
  const listings = await Promise.all(
    manifest.layers.map((layer) => run('tar', ['-tf', blob(layer.digest)], { signal })),
  );
  const names = listings.flatMap((listing) => listing.trim().split('\n'));
  return { config, names: names.map((name) => name.replace(/^\.?\/?/, '')) };
}
