/** That everything that a page links to is there, pages and their sections. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

const ROOT = path.dirname(import.meta.dirname);
const DIRECTORIES = ['.', 'docs', 'docs/performance', 'charts/memcached-operator', 'src/generate/olm'];
const pages = DIRECTORIES.flatMap((directory) =>
  readdirSync(path.join(ROOT, directory))
    .filter((name) => name.endsWith('.md'))
    .map((name) => path.join(directory, name)),
);

const read = (page: string) => readFileSync(path.join(ROOT, page), 'utf8').replaceAll(/^ *```[\s\S]*?^ *```/gm, '');

/** As GitHub names the sections of a page: of two with one title, the second has a number. */
function anchorsOf(page: string): Set<string> {
  const seen = new Map<string, number>();
  const titles = read(page).matchAll(/^#{1,6} (.*)$/gm);
  return new Set(
    [...titles].map(([, title = '']) => {
      const plain = title.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
      const anchor = plain.replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '').replaceAll(' ', '-');
      const count = seen.get(anchor) ?? 0;
      seen.set(anchor, count + 1);
      return count === 0 ? anchor : `${anchor}-${count}`;
    }),
  );
}

/** Links to this repository: relative ones, and those by which others link to it. */
function linksOf(page: string): string[] {
  const text = read(page).replaceAll(/`[^`\n]*`/g, '');
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  const home = 'https://github.com/c5c3/memcached-operator/blob/main/';
  return links.flatMap((link) => {
    if (link.startsWith(home)) return [path.relative(path.dirname(page), link.slice(home.length))];
    return /^[a-z]+:/.test(link) ? [] : [link];
  });
}

/** Why a link leads nowhere. */
function fault(page: string, link: string): string | undefined {
  const [file = '', anchor] = link.split('#');
  const target = file === '' ? page : path.join(path.dirname(page), file);
  if (!existsSync(path.join(ROOT, target))) return `${page}: ${link}: there is no ${target}`;
  if (anchor === undefined || !target.endsWith('.md') || anchorsOf(target).has(anchor)) return undefined;
  return `${page}: ${link}: ${target} has no such section`;
}

test.for(pages)('links of %s', (page) => {
  expect(linksOf(page).flatMap((link) => fault(page, link) ?? [])).toEqual([]);
});

test('a link that leads nowhere is found', () => {
  expect(fault('docs/README.md', 'nowhere.md')).toContain('there is no docs/nowhere.md');
  expect(fault('docs/README.md', 'metrics.md#nowhere')).toContain('has no such section');
  expect(fault('docs/README.md', '../README.md#what-they-need')).toBeUndefined();
});

test('every page is in the index', () => {
  const index = linksOf('docs/README.md').map((link) => path.join('docs', link));
  expect(
    pages.filter((page) => page.startsWith('docs/') && page !== 'docs/README.md' && !index.includes(page)),
  ).toEqual([]);
});
