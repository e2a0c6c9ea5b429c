/** What a heap consists of, by the sort of things and by their constructors. */

export interface HeapSnapshot {
  readonly snapshot: {
    readonly meta: { readonly node_fields: readonly string[]; readonly node_types: readonly [readonly string[]] };
  };
  readonly nodes: readonly number[];
  readonly strings: readonly string[];
}

/** Sorts of which each thing has a name of its own. */
const BY_CONSTRUCTOR = new Set(['object', 'native', 'hidden', 'object shape']);

export function heapSummary({ snapshot: { meta }, nodes, strings }: HeapSnapshot, most: number): string {
  const width = meta.node_fields.length;
  const [type, name, size] = ['type', 'name', 'self_size'].map((field) => meta.node_fields.indexOf(field));
  const groups = new Map<string, { count: number; bytes: number }>();
  let all = 0;
  for (let at = 0; at < nodes.length; at += width) {
    const field = (index = 0) => nodes[at + index] ?? 0;
    const sort = meta.node_types[0][field(type)] ?? '';
    const group = BY_CONSTRUCTOR.has(sort) ? `${sort} ${strings[field(name)] ?? ''}`.slice(0, 60) : sort;
    const { count, bytes } = groups.get(group) ?? { count: 0, bytes: 0 };
    groups.set(group, { count: count + 1, bytes: bytes + field(size) });
    all += field(size);
  }
  const sorted = [...groups].toSorted(([, a], [, b]) => b.bytes - a.bytes).slice(0, most);
  const lines = sorted.map(
    ([group, { count, bytes }]) =>
      `${(bytes / 1024).toFixed(0).padStart(8)} kB ${String(count).padStart(8)} ×  ${group}`,
  );
  return [`${(all / 2 ** 20).toFixed(1)} MB in all`, ...lines].join('\n');
}
