/** Refuses Memcacheds that cannot work, with everything that is wrong with them, and warns of what may be regretted. */
import {
  changesSpec,
  describeErrors,
  type FieldError,
  GROUP,
  type Memcached,
  memcachedKind,
  validate,
  warningsAbout,
} from '../api/index.ts';
import type { AdmissionRequest } from '../kubernetes/admission.ts';
import { concernOf } from './concern.ts';
import { ALLOWED, denied, formerOf, objectFrom, subjectOf, type Verdict } from './review.ts';

/** A Memcached as it is stored; nothing where there is none. */
export type FindMemcached = (namespace: string, name: string) => Promise<Memcached | undefined>;

/** More is no help to anybody. */
const MAX_ERRORS = 100;
const MAX_LENGTH = 1000;

const brief = (text: string) => text.slice(0, MAX_LENGTH);

export async function validateRequest(request: AdmissionRequest, find: FindMemcached): Promise<Verdict> {
  const concern = concernOf(request);
  if (concern === undefined) return ALLOWED;
  if (concern === 'memcached') return verdictOn(subjectOf(request), formerOf(request));
  const { namespace, name } = request;
  const stored = typeof namespace === 'string' && typeof name === 'string' && (await find(namespace, name));
  return stored ? verdictOn(scaled(stored, request), stored) : ALLOWED; // without it, the API server says so itself
}

/** The request is about a Scale, which has nothing of the Memcached but its replicas. */
function scaled(memcached: Memcached, { object }: AdmissionRequest): Memcached {
  const { replicas = 0 } = objectFrom(objectFrom(object, 'request.object')['spec'] ?? {}, 'request.object.spec');
  return { ...memcached, spec: { ...memcached.spec, replicas: replicas as number } };
}

function verdictOn(memcached: Memcached, old: Memcached | undefined): Verdict {
  if (!changesSpec(memcached, old)) return ALLOWED;
  const errors = validate(memcached);
  if (errors.length > 0) return invalid(memcached, errors);
  const warnings = warningsAbout(memcached);
  return warnings.length > 0 ? { allowed: true, warnings: warnings.map(brief) } : ALLOWED;
}

/** As the API server itself says it, so that kubectl shows it in the same way. */
function invalid({ metadata }: Memcached, errors: readonly FieldError[]): Verdict {
  const causes = errors
    .slice(0, MAX_ERRORS)
    .map(({ field, reason, message }) => ({ reason, message: brief(message), field: brief(field) }));
  const name = brief(metadata.name ?? ''); // with generateName, there may be none yet
  const { kind } = memcachedKind;
  return denied({
    message: `${kind}.${GROUP} ${JSON.stringify(name)} is invalid: ${describeErrors(causes)}`,
    reason: 'Invalid',
    details: { name, group: GROUP, kind, causes },
    code: 422,
  });
}
