import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { generatedFiles } from './files.ts';

const files = generatedFiles();

test.for(files)('$name is up to date', ({ name, text }) => {
  const file = path.resolve(import.meta.dirname, '../..', name);
  expect(readFileSync(file, 'utf8'), 'run `node src/generate/main.ts`').toBe(text);
});

test('every field has a description', () => {
  const crd = files.find(({ name }) => name.startsWith('config/crd'))?.text ?? '';
  const { spec } = parse(crd) as { spec: { versions: [{ schema: { openAPIV3Schema: Schema } }] } };
  const { spec: own, status } = spec.versions[0].schema.openAPIV3Schema.properties ?? {};
  expect([...undescribed(own, 'spec'), ...undescribed(status, 'status')]).toEqual([]);
});

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

function undescribed(schema: Schema | undefined, field: string): string[] {
  return Object.entries(schema?.properties ?? {}).flatMap(([name, part]) => [
    ...(part.description ? [] : [`${field}.${name}`]),
    ...undescribed(part, `${field}.${name}`),
    ...undescribed(part.items, `${field}.${name}[]`),
  ]);
}
