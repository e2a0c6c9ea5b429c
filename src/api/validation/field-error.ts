/** What is wrong with a field, in the words of Kubernetes. */

import type { DefaultedMemcached } from '../defaults.ts';
import type { Memcached } from '../memcached.ts';

/** A cause of a Kubernetes Status. */
export interface FieldError {
  readonly field: string;
  readonly reason:
    | 'FieldValueInvalid'
    | 'FieldValueRequired'
    | 'FieldValueForbidden'
    | 'FieldValueNotSupported'
    | 'FieldValueTooLong';
  readonly message: string;
}

/** Looks at a Memcached with its defaults and, where that matters, at what the user wrote. */
export type Check = (memcached: DefaultedMemcached, written: Memcached) => readonly FieldError[];

/** The same for what works, but may be regretted: a sentence that begins with the field. */
export type Warning = (memcached: DefaultedMemcached, written: Memcached) => string | undefined;

export function invalid(field: string, value: unknown, detail: string): FieldError {
  return { field, reason: 'FieldValueInvalid', message: `Invalid value: ${quoted(value)}: ${detail}` };
}

export function required(field: string, detail?: string): FieldError {
  const message = detail === undefined ? 'Required value' : `Required value: ${detail}`;
  return { field, reason: 'FieldValueRequired', message };
}

export function forbidden(field: string, detail: string): FieldError {
  return { field, reason: 'FieldValueForbidden', message: `Forbidden: ${detail}` };
}

export function notSupported(field: string, value: unknown, supported: readonly string[]): FieldError {
  const values = supported.map((each) => JSON.stringify(each)).join(', ');
  const message = `Unsupported value: ${quoted(value)}: supported values: ${values}`;
  return { field, reason: 'FieldValueNotSupported', message };
}

export function tooLong(field: string, maxLength: number): FieldError {
  return { field, reason: 'FieldValueTooLong', message: `Too long: may not be more than ${maxLength} bytes` };
}

const LONGEST_QUOTE = 300;

/** Nobody reads more of a value that is wrong. */
function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null';
  return text.length > LONGEST_QUOTE ? `${text.slice(0, LONGEST_QUOTE)}…` : text;
}

/** The errors as Kubernetes writes them in one line. */
export function describeErrors(errors: readonly FieldError[]): string {
  const lines = errors.map(({ field, message }) => `${field}: ${message}`);
  return lines.length === 1 ? lines.join() : `[${lines.join(', ')}]`;
}
