/** A container image as a part of the cluster: a root directory is filled, and kept as one `image.tar`. */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { BuildContext, Part } from '../parts.ts';
import { type ImageConfig, writeImage } from './oci.ts';

export interface ImagePart extends Part {
  /** The name under which pods ask for the image. */
  readonly reference: string;
}

/** What a recipe gets: an empty root to fill, and a place for what does not go into the image. */
export interface Workshop extends BuildContext {
  readonly root: string;
  readonly workDirectory: string;
}

export interface Recipe extends Pick<Part, 'inputs' | 'needs' | 'oneAtATime' | 'seconds'> {
  readonly reference: string;
  readonly config: ImageConfig;
  fillRoot(workshop: Workshop): Promise<void>;
}

/** Raised when the same recipes give other images, so that those in the cache are not taken for the new ones. */
const format = '1';

export function imagePart(recipe: Recipe): ImagePart {
  const { reference, config, inputs, seconds, needs, oneAtATime } = recipe;
  const [name = '', version = ''] = reference.slice(reference.lastIndexOf('/') + 1).split(':');
  return {
    name: `image-${name}`,
    version,
    reference,
    inputs: [format, reference, JSON.stringify(config), ...inputs],
    seconds,
    ...(needs && { needs }),
    ...(oneAtATime && { oneAtATime }),
    async build(directory, context) {
      const workDirectory = path.join(directory, 'work');
      const root = path.join(workDirectory, 'root');
      await mkdir(root, { recursive: true });
      await recipe.fillRoot({ ...context, root, workDirectory });
      context.report('writing the image');
      await writeImage(directory, { reference, layers: [root], config }, context.signal);
      await rm(workDirectory, { recursive: true });
    },
  };
}
