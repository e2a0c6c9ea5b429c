/** The contents of the cache and their indexes, against a plain list that is searched each time. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Change, Store } from './store.ts';

interface Item {
  readonly metadata: { readonly name: string; readonly resourceVersion?: string };
  readonly owners: readonly string[];
}

const item = (name: string, resourceVersion: string, ...owners: string[]): Item => ({
  metadata: { name, resourceVersion },
  owners,
});

const storeOfItems = () => new Store<Item>({ owner: ({ owners }) => owners });

test('tells what has changed', () => {
  const store = storeOfItems();
  const [first, second] = [item('a', '1'), item('a', '2')];
  expect(store.set('a', first)).toEqual({ new: first });
  expect(store.set('a', item('a', '1'))).toBeUndefined();
  expect(store.get('a')).toBe(first);
  expect(store.set('a', second)).toEqual({ old: first, new: second });
  expect(store.delete('a')).toEqual({ old: second });
  expect(store.delete('a')).toBeUndefined();
});

test('without a resourceVersion every version is a new one', () => {
  const store = new Store<Item>();
  const bare = { metadata: { name: 'a' }, owners: [] };
  store.set('a', bare);
  expect(store.set('a', { ...bare })).toEqual({ old: bare, new: bare });
});

test('replaced, it tells the difference alone', () => {
  const store = storeOfItems();
  const [kept, changed, gone] = [item('kept', '1', 'x'), item('changed', '2', 'x'), item('gone', '3', 'x')];
  for (const each of [kept, changed, gone]) store.set(each.metadata.name, each);
  const [changedNow, come] = [item('changed', '5', 'y'), item('come', '6', 'y')];
  const fresh = [item('kept', '1', 'x'), changedNow, come].map((each) => [each.metadata.name, each] as const);
  expect(store.replace(new Map(fresh))).toEqual([{ old: gone }, { old: changed, new: changedNow }, { new: come }]);
  expect(store.list()).toEqual([kept, changedNow, come]);
  expect(store.byIndex('owner', 'x')).toEqual([kept]);
  expect(store.byIndex('owner', 'y')).toEqual([changedNow, come]);
});

test('an index that nobody has made is a mistake', () => {
  expect(() => storeOfItems().byIndex('secret', 'a')).toThrow(TypeError);
});

const name = fc.constantFrom('a', 'b', 'c', 'd');
const owner = fc.constantFrom('x', 'y', 'z');
const some = fc.record({ name, version: fc.nat(3), owners: fc.array(owner, { maxLength: 3 }) });
const action = fc.oneof(
  fc.record({ set: some }),
  fc.record({ delete: name }),
  fc.record({ replace: fc.uniqueArray(some, { selector: (each) => each.name }) }),
);

test('holds what was put in, finds it by every index value, and its changes add up to it', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
      const store = storeOfItems();
      const model = new Map<string, Item>();
      const heard = new Map<string, Item>();
      const hear = (change: Change<Item> | undefined) => {
        const key = (change?.new ?? change?.old)?.metadata.name ?? '';
        expect(heard.get(key)).toBe(change?.old);
        if (change?.new) heard.set(key, change.new);
        else if (change) heard.delete(key);
      };
      const made = ({ name: key, version, owners }: typeof some extends fc.Arbitrary<infer T> ? T : never) =>
        // the same version is the same object, as on a server
        item(key, `${version}-${owners.join()}`, ...owners);
      for (const next of actions) {
        if ('set' in next) {
          hear(store.set(next.set.name, made(next.set)));
          model.set(next.set.name, made(next.set));
        } else if ('delete' in next) {
          hear(store.delete(next.delete));
          model.delete(next.delete);
        } else {
          const fresh = new Map(next.replace.map((each) => [each.name, made(each)]));
          store.replace(fresh).forEach(hear);
          model.clear();
          for (const [key, value] of fresh) model.set(key, value);
        }
        const byName = (items: Iterable<Item>) =>
          [...items].toSorted((one, other) => one.metadata.name.localeCompare(other.metadata.name));
        expect(byName(store.list())).toEqual(byName(model.values()));
        expect(byName(heard.values())).toEqual(byName(model.values()));
        for (const value of ['x', 'y', 'z']) {
          const owned = [...model.values()].filter(({ owners }) => owners.includes(value));
          expect(byName(store.byIndex('owner', value))).toEqual(byName(owned));
        }
      }
    }),
  );
});
