/**
 * The rules of the CRD's schema, once more: the API server enforces them, but an object may be older than the CRD.
 * The words are those of the API server. What is inside Kubernetes' own types is left to Kubernetes.
 */
import type { Schema } from '../schema/json-schema.ts';
import { type FieldError, invalid, notSupported, required, tooLong } from './field-error.ts';

export function structureErrors(schema: Schema, value: unknown, field: string): FieldError[] {
  const type = typeOf(value);
  if (schema['x-kubernetes-int-or-string'] ? type !== 'integer' && type !== 'string' : type !== schema.type) {
    const wanted = schema.type ?? 'integer,string';
    return [invalid(field, type, `${field} in body must be of type ${wanted}: "${type}"`)];
  }
  if (typeof value === 'number') return numberErrors(schema, value, field);
  if (typeof value === 'string') return stringErrors(schema, value, field);
  if (Array.isArray(value)) return listErrors(schema, value, field);
  if (typeof value === 'object' && value !== null) return objectErrors(schema, value, field);
  return [];
}

function numberErrors({ minimum = -Infinity, maximum = Infinity }: Schema, value: number, field: string): FieldError[] {
  if (value < minimum) return [invalid(field, value, `${field} in body should be greater than or equal to ${minimum}`)];
  if (value > maximum) return [invalid(field, value, `${field} in body should be less than or equal to ${maximum}`)];
  return [];
}

function stringErrors(schema: Schema, value: string, field: string): FieldError[] {
  const { enum: values, pattern, minLength = 0, maxLength = Infinity } = schema;
  if (values && !values.includes(value)) return [notSupported(field, value, values)];
  if (value.length < minLength)
    return [invalid(field, value, `${field} in body should be at least ${minLength} chars long`)];
  if (value.length > maxLength) return [tooLong(field, maxLength)];
  if (pattern === undefined || new RegExp(pattern).test(value)) return [];
  return [invalid(field, value, `${field} in body should match '${pattern}'`)];
}

function listErrors(schema: Schema, list: readonly unknown[], field: string): FieldError[] {
  const { items } = schema;
  return items ? list.flatMap((item, index) => structureErrors(items, item, `${field}[${index}]`)) : [];
}

function objectErrors(schema: Schema, value: object, field: string): FieldError[] {
  const missing = (schema.required ?? []).filter((name) => !Object.hasOwn(value, name));
  return [
    ...missing.map((name) => required(`${field}.${name}`)),
    ...Object.entries(value).flatMap(([name, part]) => {
      const { properties = {}, additionalProperties } = schema;
      const inner = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
      return inner && part !== undefined ? structureErrors(inner, part, `${field}.${name}`) : [];
    }),
  ];
}

/** In the words of JSON Schema. */
function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}
