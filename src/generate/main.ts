/** Writes the files that are made from the code: `make generate`, and `make bundle IMG=…` with another image in the bundle. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { generatedFiles } from './files.ts';

const root = path.resolve(import.meta.dirname, '../..');

const { image } = parseArgs({ options: { image: { type: 'string' } } }).values;

for (const { name, text } of generatedFiles(image)) {
  const file = path.join(root, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  console.log(name);
}
