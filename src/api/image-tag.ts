/** The tag of an image, which is all that its name tells about the version in it. */

/** The colon of a registry's port has a slash behind it; a digest comes after the tag. */
export function imageTag(image: string): string | undefined {
  return /:([^:/]+)$/.exec(image.split('@')[0] ?? '')?.[1];
}
