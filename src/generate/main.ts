/** Writes the files that are made from the code: `make generate`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { generatedFiles } from './files.ts';

const root = path.resolve(import.meta.dirname, '../..');

for (const { name, text } of generatedFiles()) {
  const file = path.join(root, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  console.log(name);
}
