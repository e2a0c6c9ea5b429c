/** AdmissionReviews, as the API server sends them and as it wants them answered. */
import type { Memcached } from '../api/index.ts';
import type { AdmissionRequest, AdmissionResponse } from '../kubernetes/admission.ts';
import type { Status } from '../kubernetes/object.ts';

const API_VERSION = 'admission.k8s.io/v1';

/** What came is no AdmissionReview. The message says why. */
export class MalformedReview extends Error {
  override readonly name = 'MalformedReview';
}

/** What is to be said about a request. */
export type Verdict = Omit<AdmissionResponse, 'uid'>;

export const ALLOWED: Verdict = { allowed: true };

export function denied(status: Omit<Status, 'kind' | 'status'>): Verdict {
  return { allowed: false, status: { kind: 'Status', status: 'Failure', ...status } };
}

export function readReview(body: string): AdmissionRequest {
  const review = objectFrom(parsed(body), 'the body');
  if (review['kind'] !== 'AdmissionReview' || review['apiVersion'] !== API_VERSION)
    throw new MalformedReview(`the body is no AdmissionReview of ${API_VERSION}`);
  const request = objectFrom(review['request'], 'request');
  for (const name of ['uid', 'operation'])
    if (typeof request[name] !== 'string' || request[name] === '')
      throw new MalformedReview(`request.${name} is missing, or no string`);
  return request as object as AdmissionRequest;
}

/** The object of a request. Its spec may still be anything. */
export function subjectOf({ object }: AdmissionRequest): Memcached {
  const subject = objectFrom(object, 'request.object');
  const { name = '' } = objectFrom(subject['metadata'], 'request.object.metadata');
  if (typeof name !== 'string') throw new MalformedReview('request.object.metadata.name is no string');
  return subject as object as Memcached;
}

/** The object before the request; nothing where there was none. */
export function formerOf({ oldObject }: AdmissionRequest): Memcached | undefined {
  if (oldObject === undefined || oldObject === null) return undefined;
  const former = objectFrom(oldObject, 'request.oldObject');
  objectFrom(former['spec'], 'request.oldObject.spec');
  return former as object as Memcached;
}

export function answer({ uid }: AdmissionRequest, verdict: Verdict): string {
  const response: AdmissionResponse = { uid, ...verdict };
  return JSON.stringify({ apiVersion: API_VERSION, kind: 'AdmissionReview', response });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new MalformedReview('the body is not JSON');
  }
}

export function objectFrom(value: unknown, what: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new MalformedReview(`${what} is missing, or no object`);
}
