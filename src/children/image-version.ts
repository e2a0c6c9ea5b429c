/** The version of what runs in an image, by its tag. */
import { imageTag } from '../api/index.ts';

const LABEL_VALUE = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

/** Nothing where the image has no tag, or one that cannot be the value of a label. */
export function imageVersion(image: string): string | undefined {
  const tag = imageTag(image);
  return tag !== undefined && LABEL_VALUE.test(tag) ? tag : undefined;
}
