import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { bundle } from './bundle.ts';

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
  dependencies: Record<string, string>;
};

test('the bundle runs without the sources and the packages', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'bundle-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = path.join(directory, 'memcached-operator.mjs');
  await bundle(file, { env: { COMMIT: 'abc123' } });
  // Far away from node_modules, and as far as a flag gets it: everything is loaded before flags are read.
  const said = await promisify(execFile)(process.execPath, [file, '--version'], { cwd: directory });
  expect(said).toEqual({
    stdout: `memcached-operator ${manifest.version}, commit abc123, Node ${process.version}\n`,
    stderr: '',
  });
  await checkCompany(file.replace('.mjs', ''));
});

/** What has to go with it: every package with its licence, in words and as a bill. */
async function checkCompany(base: string): Promise<void> {
  const text = await readFile(`${base}.licenses.txt`, 'utf8');
  const bill = JSON.parse(await readFile(`${base}.cdx.json`, 'utf8')) as {
    bomFormat: string;
    metadata: { component: { version: string } };
    components: { name: string; version: string; purl: string; licenses: object[]; hashes: { content: string }[] }[];
  };
  expect(bill).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { version: manifest.version } } });
  for (const [name, version] of Object.entries(manifest.dependencies)) {
    expect(bill.components).toContainEqual(
      expect.objectContaining({ name, version, purl: `pkg:npm/${name}@${version}` }),
    );
  }
  for (const { name, version, licenses, hashes } of bill.components) {
    expect(text).toContain(`${name} ${version} (`);
    expect(licenses).toHaveLength(1);
    expect(hashes[0]?.content).toMatch(/^[0-9a-f]{128}$/);
  }
}
