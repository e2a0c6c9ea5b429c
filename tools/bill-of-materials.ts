/** What a bundle is made of besides our own code: the packages, their licences, and a bill of materials (CycloneDX). */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

export interface Component {
  readonly type: 'application' | 'library' | 'platform';
  readonly name: string;
  readonly version: string;
  /** Where it comes from, in a form that scanners of vulnerabilities know. */
  readonly purl: string;
  /** As SPDX writes it. */
  readonly license?: string;
  readonly sha512?: string;
}

export interface Package extends Component {
  /** The text of its licence. */
  readonly text: string;
}

interface PackageFile {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly integrity?: string } | undefined>>;
}

/** The packages that these files come from, given relative to the root. */
export function packagesOf(files: readonly string[], root: string): Package[] {
  const lock = readJson(path.join(root, 'package-lock.json')) as LockFile;
  const places = files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? []);
  return [...new Set(places)].toSorted().map((place) => {
    const { name, version, license } = readJson(path.join(root, place, 'package.json')) as PackageFile;
    const [text] = globSync('{LICENSE,LICENCE,COPYING}*', { cwd: path.join(root, place) }).toSorted();
    if (text === undefined) throw new Error(`${place} has no file with its licence, so it cannot be passed on`);
    const sha512 = lock.packages[place]?.integrity?.replace(/^sha512-/, '');
    return {
      type: 'library',
      name,
      version,
      purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
      license,
      ...(sha512 !== undefined && { sha512: Buffer.from(sha512, 'base64').toString('hex') }),
      text: readFileSync(path.join(root, place, text), 'utf8').trim(),
    };
  });
}

export function ownComponent(root: string): Component {
  const { name, version, license } = readJson(path.join(root, 'package.json')) as PackageFile;
  return { type: 'application', name, version, purl: `pkg:github/c5c3/${name}@v${version}`, license };
}

/** Every licence, with the packages that it is about. */
export function licences(packages: readonly Package[]): string {
  const parts = packages.map(({ name, version, license, text }) => `${name} ${version} (${license})\n\n${text}\n`);
  return `The operator is bundled with these packages.\n\n${parts.join(`\n${'-'.repeat(80)}\n\n`)}`;
}

/** Without a time and a random number, so that the same parts give the same bytes. */
export function billOfMaterials(whole: Component, parts: readonly Component[]): string {
  const bill = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: entry(whole) },
    components: parts.map(entry),
    dependencies: [{ ref: whole.purl, dependsOn: parts.map(({ purl }) => purl) }],
  };
  return `${JSON.stringify(bill, undefined, 2)}\n`;
}

function entry({ type, name, version, purl, license, sha512 }: Component): object {
  return {
    type,
    'bom-ref': purl,
    name,
    version,
    purl,
    ...(license !== undefined && { licenses: [{ expression: license }] }),
    ...(sha512 !== undefined && { hashes: [{ alg: 'SHA-512', content: sha512 }] }),
  };
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}
