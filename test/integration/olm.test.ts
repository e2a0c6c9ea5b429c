/** The bundle and the catalog, as the libraries of the Operator Lifecycle Manager see them. */
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { buildBundleImage } from '../../deploy/bundle-image.ts';
import { CommandFailed, run } from '../../devcluster/command.ts';
import { programPath } from '../../devcluster/programs.ts';
import { releasedCatalog } from '../../src/generate/olm/index.ts';
import { ROOT } from '../support/cluster.ts';
import { contentsOf } from '../support/image-archive.ts';
import { needPrograms } from '../support/programs.ts';

const BUNDLE = path.join(ROOT, 'bundle');
const CSV = 'manifests/memcached-operator.clusterserviceversion.yaml';

let directory: string;

needPrograms('operator-verify', 'opm');
beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'olm-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** What is said about a bundle: it never fails, but tells. */
async function verified(bundle: string, signal: AbortSignal): Promise<{ errors: string[]; warnings: string[] }> {
  const lines: string[] = [];
  const args = ['manifests', bundle, '--operatorhub_validate', '--object_validate'];
  await run(programPath('operator-verify'), args, { signal, onLine: (line) => void lines.push(line) });
  const of = (level: string) => lines.filter((line) => line.includes(`level=${level}`));
  return { errors: [...of('error'), ...of('fatal')], warnings: of('warning') };
}

test('the bundle has no errors, and one warning that is known', async ({ signal }) => {
  const { errors, warnings } = await verified(BUNDLE, signal);
  expect(errors).toEqual([]);
  const others = warnings.filter((line) => !line.includes('validator is deprecated'));
  expect(others).toEqual([expect.stringContaining('Migrate the API(s) for events')]);
});

test('a bundle with a mistake has errors', async ({ signal }) => {
  const broken = path.join(directory, 'broken');
  await cp(BUNDLE, broken, { recursive: true });
  const csv = await readFile(path.join(broken, CSV), 'utf8');
  await writeFile(path.join(broken, CSV), csv.replace('minKubeVersion: 1.31.0', 'minKubeVersion: newest'));
  const { errors } = await verified(broken, signal);
  expect(errors).toContainEqual(expect.stringContaining('MinKubeVersion has an invalid value: newest'));
});

async function validated(catalog: readonly object[], signal: AbortSignal): Promise<string> {
  const place = await mkdtemp(path.join(directory, 'catalog-'));
  await mkdir(path.join(place, 'memcached-operator'));
  const text = catalog.map((one) => stringify(one)).join('---\n');
  await writeFile(path.join(place, 'memcached-operator/catalog.yaml'), text);
  return run(programPath('opm'), ['validate', place], { signal }).then(
    () => 'valid',
    (error: unknown) => (error instanceof CommandFailed ? error.message : Promise.reject(error as Error)),
  );
}

test('the catalog is valid, also with an upgrade from an earlier version', async ({ signal }) => {
  await run(programPath('opm'), ['validate', path.join(ROOT, 'catalog')], { signal });
  expect(await validated(releasedCatalog(ROOT, { earlier: ['0.0.9'] }), signal)).toBe('valid');
  // Two ends of a channel: nothing would lead from the earlier version to the present one.
  const [first, channel, ...bundles] = releasedCatalog(ROOT, { earlier: ['0.0.9'] }) as {
    entries: { name: string }[];
  }[];
  const apart = { ...channel, entries: channel?.entries.map(({ name }) => ({ name })) };
  expect(await validated([first ?? {}, apart, ...bundles], signal)).toMatch(/head/);
});

test('what the catalog says of the bundle is what opm finds in it', async ({ signal }) => {
  const flags = ['--migrate-level=bundle-object-to-csv-metadata', '--output=yaml'];
  const image = '--alpha-image-ref-template=ghcr.io/c5c3/memcached-operator-bundle:v{{.Version}}';
  const found = parse(await run(programPath('opm'), ['render', BUNDLE, ...flags, image], { signal })) as {
    readonly relatedImages: readonly { readonly name: string }[];
  };
  const text = await readFile(path.join(ROOT, 'catalog/memcached-operator/catalog.yaml'), 'utf8');
  const entries = parseAllDocuments(text).map((document) => document.toJS() as { schema: string });
  const byName = (one: unknown) => {
    const { relatedImages, ...rest } = one as typeof found;
    return { ...rest, relatedImages: relatedImages.toSorted((a, b) => a.name.localeCompare(b.name)) };
  };
  expect(byName(entries.find(({ schema }) => schema === 'olm.bundle'))).toEqual(byName(found));
});

test('the image has the files of the bundle, and labels that say so', async ({ signal }) => {
  const file = path.join(directory, 'bundle.tar');
  const { digest } = await buildBundleImage('example.com/bundle:v1', file, signal);
  const { config, names } = await contentsOf(file, digest, directory, signal);
  expect(config.Labels['operators.operatorframework.io.bundle.package.v1']).toBe('memcached-operator');
  expect(names.some((name) => name.endsWith(CSV))).toBe(true);
  expect(names.some((name) => name.endsWith('metadata/annotations.yaml'))).toBe(true);
});
