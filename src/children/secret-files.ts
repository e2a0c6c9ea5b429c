/** Files of Secrets in the pods. */
import type { DefaultedMemcached } from '../api/index.ts';
import type { KeyToPath } from '../kubernetes/pod-template.ts';

/** Only these keys, each a file of the same name. */
export function files(...keys: readonly string[]): KeyToPath[] {
  return keys.map((key) => ({ key, path: key }));
}

/** Readable for the group that Kubernetes gives the files to; where it is told none, for everyone in the container. */
export function fileMode({ spec }: DefaultedMemcached): number {
  return spec.security.podSecurityContext.fsGroup === undefined ? 0o444 : 0o440;
}
