/** What the pages of the documentation show: manifests and commands. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './cluster.ts';

export const pages = ['README.md', ...readdirSync(path.join(ROOT, 'docs')).map((name) => `docs/${name}`)].filter(
  (name) => name.endsWith('.md'),
);

/** The languages of blocks; those without one are drawings. A block in another one would be overlooked. */
const LANGUAGES = ['yaml', 'sh', 'console', 'ini', ''];

/** The blocks of a page in this language, also those in lists. */
export function blocksOf(page: string, language: string): string[] {
  const text = readFileSync(path.join(ROOT, page), 'utf8');
  const blocks = [...text.matchAll(/^( *)```(.*)\n([\s\S]*?)^ *```$/gm)];
  const unknown = blocks.map(([, , named = '']) => named).filter((named) => !LANGUAGES.includes(named));
  if (unknown.length > 0) throw new Error(`${page} has a block in ${unknown.join()}, not in ${LANGUAGES.join(' ')}`);
  return blocks
    .filter(([, , named]) => named === language)
    .map(([, indentation = '', , block = '']) => block.replaceAll(new RegExp(`^${indentation}`, 'gm'), ''));
}

/** The commands in the blocks of a page, one per line; a backslash goes on with the next one. */
export function commandsOf(page: string): string[] {
  return blocksOf(page, 'sh').flatMap((block) =>
    block
      .replaceAll(/\\\n */g, '')
      .split('\n')
      .map((line) => line.replace(/\s+#.*$/, '').trim())
      .filter((line) => line !== '' && !line.startsWith('#')),
  );
}
