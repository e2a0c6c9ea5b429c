/** Images that will surprise: those that change by themselves, and those that cannot do what is asked of them. */
import { imageTag } from '../image-tag.ts';
import type { Warning } from './field-error.ts';

/** The first whose listeners can differ in protocol. */
const OLDEST_WITH_PROTOCOLS = [1, 6, 40] as const;

export const imageIsAnyVersion: Warning = ({ spec: { image } }) => {
  if (image.includes('@') || imageTag(image) !== undefined) return undefined;
  return `spec.image: ${JSON.stringify(image)} has neither tag nor digest, so that servers may differ in version and change it unasked; name a version, such as ${image}:1.6.45`;
};

export const imageIsTooOld: Warning = ({ spec: { image, monitoring, security } }) => {
  const version = imageTag(image) ?? '';
  if (!monitoring.enabled || !security.sasl.enabled || !isOlder(version)) return undefined;
  return `spec.image: memcached ${version} does not start with SASL and monitoring together; use ${OLDEST_WITH_PROTOCOLS.join('.')} or later, or disable one of them`;
};

/** "1.6.28-alpine" is; "1.6" is not, because it means the latest of them. */
function isOlder(version: string): boolean {
  const numbers = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-|$)/.exec(version)?.slice(1);
  for (const [place, wanted] of OLDEST_WITH_PROTOCOLS.entries()) {
    const found = Number(numbers?.[place] ?? Infinity);
    if (found !== wanted) return found < wanted;
  }
  return false;
}
