import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { PolicyRule } from '../kubernetes/policy-rule.ts';
import { rulesOf } from './permissions.ts';

const OWN = 'in its own namespace';
const elsewhere = rulesOf('watched', 'cluster');
const own = rulesOf('own');

const page = readFileSync(path.resolve(import.meta.dirname, '../../SECURITY.md'), 'utf8');
const [, table = ''] = /^\| it may \|.*\n\|[-|]+\n((?:\|.*\n)+)/m.exec(page) ?? [];
const cells = [...table.matchAll(/^\| (.*?) \|/gm)].map(([, cell = '']) => cell);

/** "patch leases in its own namespace" and the like. */
function permissions(rules: readonly Pick<PolicyRule, 'resources' | 'verbs'>[], place: string): string[] {
  return rules.flatMap(({ resources, verbs }) =>
    resources.flatMap((resource) => verbs.map((verb) => [verb, resource, place].filter(Boolean).join(' '))),
  );
}

/** What the first cells of the table speak of, of all that there is to speak of. */
function told(words: readonly Pick<PolicyRule, 'resources' | 'verbs'>[]): string[] {
  const known = (cell: string, all: readonly string[]) => {
    const said = cell.toLowerCase().split(/[^a-z/]+/);
    return [...new Set(all)].filter((word) => said.includes(word));
  };
  const verbs = words.flatMap((rule) => rule.verbs);
  const resources = words.flatMap((rule) => rule.resources);
  return cells.flatMap((cell) =>
    permissions([{ resources: known(cell, resources), verbs: known(cell, verbs) }], cell.endsWith(OWN) ? OWN : ''),
  );
}

test('SECURITY.md tells of every permission of the operator, and of no other', () => {
  const granted = new Set([...permissions(elsewhere, ''), ...permissions(own, OWN)]);
  expect(granted.size).toBeGreaterThan(60);
  expect(told([...elsewhere, ...own]).toSorted()).toEqual([...granted].toSorted());
});
