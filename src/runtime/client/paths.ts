/** Where the API keeps the objects of a kind. */
import type { Kind } from '../../kubernetes/object.ts';

export interface Place {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** The path of one object, or without a name, of all of them: in one namespace, or without it, in all. */
export function pathOf(kind: Kind, { namespace, name, subresource }: Place): string {
  if (name === '' || namespace === '') throw new TypeError(`an empty name or namespace addresses no ${kind.kind}`);
  if (kind.namespaced && name !== undefined && namespace === undefined) {
    throw new TypeError(`the ${kind.kind} ${name} needs a namespace`);
  }
  const parts = [kind.apiVersion.includes('/') ? 'apis' : 'api', ...kind.apiVersion.split('/')];
  if (kind.namespaced && namespace !== undefined) parts.push('namespaces', namespace);
  parts.push(kind.plural);
  if (name !== undefined) parts.push(name);
  if (subresource !== undefined) parts.push(...subresource.split('/'));
  return `/${parts.map(segment).join('/')}`;
}

/** A name such as ".." must not be taken for a step in the path. */
function segment(part: string): string {
  if (part === '' || part === '.' || part === '..') throw new TypeError(`"${part}" is not a part of an API path`);
  return encodeURIComponent(part);
}

/** The path with its parameters; those without a value are left out. */
export function withQuery(path: string, query: Query): string {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined) parameters.set(key, String(value));
  return parameters.size === 0 ? path : `${path}?${parameters.toString()}`;
}
