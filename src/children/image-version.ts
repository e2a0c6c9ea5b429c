/** The version of what runs in an image, by its tag. */

const LABEL_VALUE = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

/** Nothing where the image has no tag, or one that cannot be the value of a label. */
export function imageVersion(image: string): string | undefined {
  const [name = ''] = image.split('@'); // without the digest
  const tag = /:([^:/]+)$/.exec(name)?.[1]; // the colon of a registry's port has a slash behind it
  return tag !== undefined && LABEL_VALUE.test(tag) ? tag : undefined;
}
