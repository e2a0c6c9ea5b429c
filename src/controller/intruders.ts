/**
 * Finds what keeps our items out of a list.
 *
 * Lists of ports are told apart by number and protocol, but no two ports may have the same name. Somebody who changes the
 * number of our port has, for the server, removed ours and added one of his own that bears its name: an apply then fails.
 */
import type { KubernetesObject } from '../kubernetes/object.ts';

/** What tells items of such lists apart, beside their names. */
const KEYS = ['port', 'containerPort', 'protocol'];

interface Item {
  readonly [field: string]: unknown;
}

/** The items with a name of ours that are not ours, as JSON pointers; last ones first, so that they can be removed in that order. */
export function intruders(desired: KubernetesObject, existing: KubernetesObject): string[] {
  return within(desired, existing, '');
}

function within(desired: unknown, existing: unknown, pointer: string): string[] {
  if (Array.isArray(desired) && Array.isArray(existing)) return amongItems(desired, existing, pointer);
  if (!isItem(desired) || !isItem(existing)) return [];
  return Object.entries(desired).flatMap(([name, value]) =>
    within(value, existing[name], `${pointer}/${escaped(name)}`),
  );
}

function amongItems(desired: readonly unknown[], existing: readonly unknown[], pointer: string): string[] {
  return existing
    .flatMap((item, index) => {
      const ours = desired.find(
        (one) => isItem(one) && isItem(item) && one['name'] !== undefined && one['name'] === item['name'],
      );
      if (!isItem(ours) || !isItem(item)) return [];
      const path = `${pointer}/${index}`;
      return KEYS.some((key) => ours[key] !== item[key]) ? [path] : within(ours, item, path);
    })
    .toReversed();
}

function isItem(value: unknown): value is Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
