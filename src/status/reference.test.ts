/** That the page about conditions and events lists exactly those that there are. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { FAULTS } from './observation.ts';

const SOURCE = path.dirname(import.meta.dirname);
const page = readFileSync(path.resolve(SOURCE, '../docs/conditions.md'), 'utf8');

/** The sources of a room, tests apart. */
function sourcesOf(room: string): string {
  return readdirSync(path.join(SOURCE, room), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => readFileSync(path.join(SOURCE, room, name), 'utf8'))
    .join('\n');
}

const found = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name = '']) => name);

/** A section of the page, by its title. */
function section(title: string): string {
  const [, text] = page.split(`\n## ${title}\n`);
  if (text === undefined) throw new Error(`there is no section ${title}`);
  return text.split('\n## ')[0] ?? '';
}

const conditions = readFileSync(path.join(SOURCE, 'status/conditions.ts'), 'utf8');
const verdicts = found(conditions, /\b(?:yes|no)\(\s*type,\s*'(\w+)'/g);

test('every reason of a condition, and no other', () => {
  const rows = ['Ready', 'Available', 'Progressing', 'Degraded'].flatMap((title) =>
    found(section(title), /^\| (?:True|False) \| `(\w+)` \|/gm),
  );
  expect(verdicts.length).toBeGreaterThan(8);
  expect(new Set(rows)).toEqual(new Set([...verdicts, ...FAULTS]));
});

test('reasons for Degraded stand in the order in which they win', () => {
  const rows = found(section('Degraded'), /^\| True \| `(\w+)` \|/gm);
  expect(rows.slice(0, FAULTS.length)).toEqual([...FAULTS]);
});

test('every reason of an event, and no other', () => {
  const happenings = readFileSync(path.join(SOURCE, 'controller/happenings.ts'), 'utf8');
  const done = found(happenings, /(?:create|update|delete): '(\w+)'/g);
  const remarks = found(sourcesOf('status'), /readonly reason: '(\w+)'/g);
  expect([done.length, remarks.length]).toEqual([3, 1]);
  const rows = section('Events')
    .split('\n')
    .filter((line) => /^\| (?:Normal|Warning) /.test(line))
    .flatMap((line) => found(line.split('|')[2] ?? '', /`(\w+)`/g));
  expect(new Set(rows)).toEqual(new Set([...done, ...FAULTS, ...remarks]));
});
