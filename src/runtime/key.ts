/** The name by which an object is stored and queued: `namespace/name`, or `name` where there are no namespaces. */

export interface Named {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined };
}

export interface NameParts {
  readonly namespace?: string;
  readonly name: string;
}

/** One text of its own: a template would keep the texts that it was made of, which is twice as much. */
export function keyOf({ metadata: { namespace, name } }: Named): string {
  return namespace ? [namespace, name].join('/') : name;
}

export function partsOf(key: string): NameParts {
  const slash = key.indexOf('/');
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
