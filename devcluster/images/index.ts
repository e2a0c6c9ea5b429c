/** Every image that the cluster's nodes hold from the start. */
import type { Part } from '../parts.ts';
import { clientsImage } from './clients.ts';
import { exporterImage } from './exporter.ts';
import type { ImagePart } from './image.ts';
import { memcachedImage, oldMemcachedImage } from './memcached.ts';
import { pauseImage } from './pause.ts';

export type { ImagePart } from './image.ts';
export { imageFile } from './oci.ts';
export { PAUSE } from './pause.ts';

export function images(exporter: Part): readonly ImagePart[] {
  return [pauseImage(), memcachedImage(), oldMemcachedImage(), exporterImage(exporter), clientsImage()];
}
