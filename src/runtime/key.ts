/** The name by which an object is stored and queued: `namespace/name`, or `name` where there are no namespaces. */

export interface Named {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined };
}

export interface NameParts {
  readonly namespace?: string;
  readonly name: string;
}

export function keyOf({ metadata: { namespace, name } }: Named): string {
  return namespace ? `${namespace}/${name}` : name;
}

export function partsOf(key: string): NameParts {
  const slash = key.indexOf('/');
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
