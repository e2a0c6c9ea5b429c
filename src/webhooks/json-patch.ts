/** The difference between two JSON values as a JSON patch (RFC 6902), as small as can be. Lists are replaced as a whole. */
import { isDeepStrictEqual } from 'node:util';

export type PatchOperation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

export function jsonPatch(before: unknown, after: unknown, path = ''): PatchOperation[] {
  if (before === after) return [];
  if (!isObject(before) || !isObject(after))
    return isDeepStrictEqual(before, after) ? [] : [{ op: 'replace', path, value: after }];
  const removed = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  return [
    ...removed.map((name) => ({ op: 'remove', path: `${path}/${escaped(name)}` }) as const),
    ...Object.entries(after).flatMap(([name, value]): PatchOperation[] => {
      const place = `${path}/${escaped(name)}`;
      return Object.hasOwn(before, name) ? jsonPatch(before[name], value, place) : [{ op: 'add', path: place, value }];
    }),
  ];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
