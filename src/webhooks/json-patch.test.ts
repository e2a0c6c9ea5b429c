import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonPatch, type PatchOperation } from './json-patch.ts';

test.for<[before: unknown, after: unknown, patch: PatchOperation[]]>([
  [{ a: 1 }, { a: 1 }, []],
  [{ a: [1] }, { a: [1] }, []],
  [{ a: 1 }, { a: 1, b: { c: 2 } }, [{ op: 'add', path: '/b', value: { c: 2 } }]],
  [{ a: { b: 1 } }, { a: { b: 1, c: 2 } }, [{ op: 'add', path: '/a/c', value: 2 }]],
  [{ a: { b: 1, c: 2 } }, { a: { c: 2 } }, [{ op: 'remove', path: '/a/b' }]],
  [{ a: [1, 2] }, { a: [1] }, [{ op: 'replace', path: '/a', value: [1] }]],
  [{ a: null }, { a: {} }, [{ op: 'replace', path: '/a', value: {} }]],
  [{}, { 'a/b~c': 1 }, [{ op: 'add', path: '/a~1b~0c', value: 1 }]],
])('%j to %j', ([before, after, patch]) => {
  expect(jsonPatch(before, after)).toEqual(patch);
});

test('applied to what was before, it gives what is after', () => {
  const value = fc.object({
    withNullPrototype: false,
    maxDepth: 4,
    key: fc.constantFrom('a', 'b', '~', '/', '__proto__'),
  });
  fc.assert(
    fc.property(value, value, (before, after) => {
      const [first, second] = [plain(before), plain(after)];
      expect(jsonPatch(first, second).reduce(applied, first)).toEqual(second);
      expect(jsonPatch(first, plain(before))).toEqual([]);
    }),
  );
});

/** As JSON has it. */
function plain(value: object): object {
  return JSON.parse(JSON.stringify(value)) as object;
}

function applied(document: object, { path, ...operation }: PatchOperation): object {
  const names = path
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  return changed(document, names, 'value' in operation ? [operation.value] : []) as object;
}

/** A copy without the field, or with another value in it. */
function changed(document: unknown, [name = '', ...rest]: readonly string[], value: readonly unknown[]): unknown {
  const entries = new Map(Object.entries(document as object));
  const inner: readonly unknown[] = rest.length > 0 ? [changed(entries.get(name), rest, value)] : value;
  entries.delete(name);
  for (const part of inner) entries.set(name, part);
  return Object.fromEntries(entries);
}
