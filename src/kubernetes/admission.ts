/** AdmissionReview (admission.k8s.io/v1), as far as we read and write it. */
import type { Status } from './object.ts';

export interface AdmissionRequest {
  readonly uid: string;
  readonly operation: string;
  readonly resource?: { readonly group?: string; readonly resource?: string };
  readonly subResource?: string;
  readonly name?: string;
  readonly namespace?: string;
  /** Missing when something is deleted. */
  readonly object?: unknown;
  /** Missing when something is created. */
  readonly oldObject?: unknown;
}

export interface AdmissionResponse {
  readonly uid: string;
  readonly allowed: boolean;
  /** Why it is not allowed. */
  readonly status?: Status;
  readonly warnings?: readonly string[];
  readonly patchType?: 'JSONPatch';
  /** In base64. */
  readonly patch?: string;
}
