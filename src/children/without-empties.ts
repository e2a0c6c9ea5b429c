/**
 * Takes out of an object what says nothing.
 *
 * The server does not store empty lists and maps, and a NetworkPolicy that has some changes with every apply of the same: a loop
 * without end. Besides, a field that is applied is ours, and an empty one has nothing that would be worth owning.
 */

/** An empty selector says something: it selects everything. */
const SELECTORS = new Set(['podSelector', 'namespaceSelector', 'labelSelector', 'selector']);

/** Items of lists stay, even if nothing is left of them: a rule that loses its only source would let everyone in. */
export function withoutEmpties<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(withoutEmpties) as Value;
  if (typeof value !== 'object' || value === null) return value;
  const kept: [string, unknown][] = [];
  for (const [name, inner] of Object.entries(value)) {
    const rest = withoutEmpties<unknown>(inner);
    if (!isEmpty(rest) || isSelector(name, rest)) kept.push([name, rest]);
  }
  return Object.fromEntries(kept) as Value;
}

function isSelector(name: string, value: unknown): boolean {
  return SELECTORS.has(name) && typeof value === 'object' && value !== null;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
