/**
 * Tells by one short string whether an object in the cluster is what we want it to be.
 *
 * The server keeps, for every field, who set it. What it says of us, taken together with the values, is what is left of our last
 * apply: a field that somebody else changed or removed is no longer ours. So the object is as we want it exactly when
 * the fingerprint of our fields equals that of the object that we would apply; nothing else of it has to be remembered.
 */
import { hash } from 'node:crypto';
import { quantityInNano } from '../api/index.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
type Fields = { readonly [path: string]: Fields };

interface ManagedFields {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly fieldsV1?: Fields;
}

/** What the server drops when it stores an object; "set to nothing" is still different from "not set". */
const NOTHING = '∅';

/** The fingerprint of an object that we want. */
export function wantedFingerprint(desired: KubernetesObject): string {
  return digest(content(desired as unknown as Record<string, Json>));
}

/** The fingerprint of what is ours in an object of the cluster. */
export function observedFingerprint(observed: KubernetesObject, manager: string): string {
  return digest(content(owned(observed as unknown as Json, appliedFields(observed, manager)) as Record<string, Json>));
}

/**
 * Tells whether the fingerprint of an object can be another than before, for much less than the fingerprint costs: by everything that
 * it follows from, whoever it belongs to. The spec is given as a digest.
 */
export function basisOf(observed: KubernetesObject, spec: string, manager: string): string {
  const { labels, annotations, ownerReferences } = observed.metadata;
  return digestOf(JSON.stringify([spec, labels, annotations, ownerReferences, appliedFields(observed, manager)]));
}

/** Whether the last apply of the manager set the field, and nobody has set it to something else since. */
export function isApplied(observed: KubernetesObject, manager: string, path: readonly string[]): boolean {
  let fields: Fields | undefined = appliedFields(observed, manager);
  for (const name of path) fields = fields?.[`f:${name}`];
  return fields !== undefined;
}

function appliedFields(observed: KubernetesObject, manager: string): Fields {
  const { managedFields = [] } = observed.metadata as { managedFields?: readonly ManagedFields[] };
  const ours = managedFields.find(
    (entry) => entry.manager === manager && entry.operation === 'Apply' && !entry.subresource,
  );
  return ours?.fieldsV1 ?? {};
}

/** Without what identifies the object, and without what an apply only uses as a condition. */
function content(object: Readonly<Record<string, Json>>): Json {
  const { apiVersion: _a, kind: _k, metadata, ...rest } = object;
  const { labels, annotations, ownerReferences } = (metadata ?? {}) as Record<string, Json>;
  const kept = Object.entries({ labels, annotations, ownerReferences }).filter(([, value]) => value !== undefined);
  return { ...rest, metadata: Object.fromEntries(kept) as Record<string, Json> };
}

/** The part of a value that the fields name. A field without further ones is owned whole. */
function owned(value: Json | undefined, fields: Fields): Json {
  const names = Object.keys(fields).filter((name) => name !== '.');
  if (names.length === 0 || value === undefined || value === null) return value ?? NOTHING;
  if (Array.isArray(value)) return ownedItems(value as readonly Json[], fields, names);
  const object = value as Readonly<Record<string, Json>>;
  const entries = names.map((name): [string, Json] => [
    name.slice(2),
    owned(object[name.slice(2)], fields[name] ?? {}),
  ]);
  return Object.fromEntries(entries);
}

/** Items are named by their keys (k:{…}) or, in a set, by their value (v:…). They keep the order that they have. */
function ownedItems(list: readonly Json[], fields: Fields, names: readonly string[]): Json {
  const items = names.map((name) => {
    const id = JSON.parse(name.slice(2)) as Json;
    const index = list.findIndex((item) => (name.startsWith('k:') ? hasKeys(item, id) : item === id));
    return { index, value: owned(list[index], fields[name] ?? {}) };
  });
  return items.toSorted((a, b) => a.index - b.index).map(({ value }) => value);
}

function hasKeys(item: Json, keys: Json): boolean {
  const object = item as Readonly<Record<string, Json>>;
  return Object.entries(keys as Record<string, Json>).every(([name, value]) => object[name] === value);
}

function digest(value: Json): string {
  return digestOf(JSON.stringify(canonical(value, '')));
}

/** Short, and for two texts never the same. */
export function digestOf(text: string): string {
  // No part of a longer text, which would stay in memory with it.
  return hash('sha256', text, 'buffer').toString('base64url', 0, 16);
}

type Canonical = null | boolean | number | string | Canonical[];

/** What was an object begins with it. No list does: a zero in a list becomes null. */
const OBJECT = 0;

/** Same meaning, same structure: names in order, quantities by their amount, everything empty as nothing. */
function canonical(value: Json, name: string): Canonical {
  if (value === null || value === false || value === 0 || value === '' || value === NOTHING) return null;
  if (typeof value !== 'object') return name === QUANTITY ? amount(value) : value;
  if (Array.isArray(value)) {
    const list = value as readonly Json[];
    return list.length === 0 ? null : list.map((item) => canonical(item, ''));
  }
  const object = value as Readonly<Record<string, Json>>;
  const keys = inOrder(Object.keys(object));
  if (keys.length === 0) return null;
  const items: Canonical[] = [OBJECT];
  for (const key of keys) items.push(key, canonical(object[key] ?? null, isAmount(name, key) ? QUANTITY : key));
  return items;
}

/** With so few, and mostly in order, to sort them by hand takes no memory, and Array.toSorted ten times that of the list. */
const FEW = 32;

/** The list itself may be the one that is sorted. */
function inOrder(names: string[]): string[] {
  if (names.length > FEW) return names.toSorted();
  for (let next = 1; next < names.length; next += 1) {
    const name = names[next] ?? '';
    let place = next;
    for (; place > 0 && (names[place - 1] ?? '') > name; place -= 1) names[place] = names[place - 1] ?? '';
    names[place] = name;
  }
  return names;
}

const QUANTITY = 'quantity';

/** Whether the API takes what has this name, in what has the other one, for a quantity. */
function isAmount(inside: string, name: string): boolean {
  if (inside === 'limits' || inside === 'requests') return true;
  return name === 'averageValue' || name === 'tolerance' || (inside === 'target' && name === 'value');
}

function amount(value: string | number | boolean): string | boolean {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' ? (quantityInNano(text)?.toString() ?? text) : text;
}
