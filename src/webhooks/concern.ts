/** Which admission requests concern us: the rest is let through, whatever the configuration of the webhooks sends here. */
import { GROUP, memcachedKind } from '../api/index.ts';
import type { AdmissionRequest } from '../kubernetes/admission.ts';

const OPERATIONS: readonly unknown[] = ['CREATE', 'UPDATE'];

/** Nothing for what is always allowed, such as to delete a Memcached. */
export function concernOf({ operation, resource, subResource }: AdmissionRequest): 'memcached' | 'scale' | undefined {
  if (resource?.group !== GROUP || resource.resource !== memcachedKind.plural) return undefined;
  if (!OPERATIONS.includes(operation)) return undefined;
  if (subResource === undefined || subResource === '') return 'memcached';
  return subResource === 'scale' ? 'scale' : undefined;
}
