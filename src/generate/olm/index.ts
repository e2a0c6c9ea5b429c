/** The bundle for the Operator Lifecycle Manager and the catalog that leads to it, from the same code and manifests as config/. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { metricsReader, userRbac } from '../rbac.ts';
import { CHANNEL, type Csv, catalog, PACKAGE } from './catalog.ts';
import { csv, imageOf, type OperatorDeployment } from './csv.ts';

/** Releases before the present one, oldest first. */
const EARLIER: readonly string[] = [];
const EXAMPLES = ['basic-cache', 'ha-cache', 'secure-cache', 'scaling-cache'];

/** Objects by the name of the file that has them. */
export type Manifests = Readonly<Record<string, readonly object[]>>;

/** Everything is read below this directory: version, Deployment, examples. The image is that of the version, unless another is given. */
export function bundle(root: string, definition: object, image?: string): Manifests {
  const others = ['disruption-budget', 'metrics-service'].map((name) => manifest(root, `config/manager/${name}.yaml`));
  const named = [...others.map(withoutNamespace), metricsReader(), ...userRbac()] as Named[];
  return {
    'manifests/memcached-operator.clusterserviceversion.yaml': [currentCsv(root, image)],
    'manifests/memcached.c5c3.io_memcacheds.yaml': [definition],
    ...Object.fromEntries(named.map((object) => [`manifests/${fileOf(object)}`, [object]])),
    'metadata/annotations.yaml': [{ annotations: annotations() }],
  };
}

/** With each release one more version, of which each replaces the one before it. */
export function releasedCatalog(
  root: string,
  { image, earlier = EARLIER }: { readonly image?: string | undefined; readonly earlier?: readonly string[] } = {},
): object[] {
  const [icon, description] = [own('icon.svg'), own('description.md')];
  return catalog({ icon, description, earlier, current: currentCsv(root, image) as Csv });
}

function currentCsv(root: string, image = imageOf(versionOf(root))): object {
  return csv({
    version: versionOf(root),
    image,
    deployment: manifest(root, 'config/manager/deployment.yaml') as OperatorDeployment,
    examples: EXAMPLES.map((name) => withoutNamespace(manifest(root, `examples/${name}.yaml`))),
    icon: own('icon.svg'),
    description: own('description.md'),
  });
}

/** Labels of the image, and annotations in it, say the same. */
export function annotations(): Readonly<Record<string, string>> {
  const prefix = 'operators.operatorframework.io.bundle';
  return {
    [`${prefix}.mediatype.v1`]: 'registry+v1',
    [`${prefix}.manifests.v1`]: 'manifests/',
    [`${prefix}.metadata.v1`]: 'metadata/',
    [`${prefix}.package.v1`]: PACKAGE,
    [`${prefix}.channels.v1`]: CHANNEL,
    [`${prefix}.channel.default.v1`]: CHANNEL,
  };
}

export function bundleDockerfile(): string {
  const labels = Object.entries(annotations()).map(([name, value]) => `LABEL ${name}=${value}\n`);
  return `FROM scratch\n${labels.join('')}COPY manifests /manifests/\nCOPY metadata /metadata/\n`;
}

interface Named {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

function fileOf({ kind, metadata }: Named): string {
  return `${metadata.name}.${kind.toLowerCase()}.yaml`;
}

/** The Lifecycle Manager decides where things go. */
function withoutNamespace(object: object): object {
  const { namespace: _, ...metadata } = (object as Named).metadata;
  return { ...object, metadata };
}

function versionOf(root: string): string {
  return (JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string }).version;
}

function manifest(root: string, file: string): object {
  return parse(readFileSync(path.join(root, file), 'utf8')) as object;
}

function own(file: string): string {
  return readFileSync(path.join(import.meta.dirname, file), 'utf8');
}
