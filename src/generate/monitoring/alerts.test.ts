import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { alerts } from './alerts.ts';

const page = readFileSync(path.resolve(import.meta.dirname, '../../../docs/runbooks.md'), 'utf8');
const sections = page.split(/^## /m).slice(1);

test('every alert has a section in the runbooks, and every section an alert', () => {
  const titles = sections.map((section) => section.slice(0, section.indexOf('\n')));
  expect(titles).toEqual(alerts.map(({ alert }) => alert));
});

test.for(sections)('a section says more than its title', (section) => {
  expect(section.split('\n').filter(Boolean).length).toBeGreaterThan(2);
});
