import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { mayImport, operator, roomOf } from './rooms.ts';

test('the table names only rooms that it has', () => {
  for (const allowed of Object.values(mayImport)) {
    for (const room of allowed) expect(mayImport).toHaveProperty(room);
  }
});

test('ARCHITECTURE.md shows the same table', () => {
  const page = readFileSync(new URL('../ARCHITECTURE.md', import.meta.url), 'utf8');
  const [, table = ''] = page.split('| room | may import |\n|---|---|\n');
  const [rows = ''] = table.split('\n\n');
  const shown = rows.split('\n').map((row) => {
    const [room = '', ...allowed] = [...row.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
    return [room, allowed.flatMap((name) => (name === 'src' ? operator : [name]))];
  });
  expect(shown).toEqual(Object.entries(mayImport));
});

test.each([
  ['src/main.ts', 'main'],
  ['package.json', 'main'],
  ['src/config.test.ts', 'config'],
  ['src/runtime/cache/informer.ts', 'runtime'],
  ['devcluster/images/tar.ts', 'devcluster'],
  ['test/support/cluster.ts', 'test'],
])('%s is in the room %s', (file, room) => {
  expect(roomOf(file)).toBe(room);
});
