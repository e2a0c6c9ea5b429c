/** Fills in defaults before a Memcached is stored. */
import { admitted, type DefaultOptions } from '../api/index.ts';
import type { AdmissionRequest } from '../kubernetes/admission.ts';
import { concernOf } from './concern.ts';
import { jsonPatch } from './json-patch.ts';
import { ALLOWED, formerOf, subjectOf, type Verdict } from './review.ts';

export function mutate(request: AdmissionRequest, defaults: DefaultOptions): Verdict {
  if (concernOf(request) !== 'memcached') return ALLOWED;
  const memcached = subjectOf(request);
  const patch = jsonPatch(memcached, admitted(memcached, formerOf(request), defaults));
  if (patch.length === 0) return ALLOWED;
  return { allowed: true, patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') };
}
