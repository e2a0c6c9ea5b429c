/** The file-based catalog: which versions there are, and which of them replaces which. */
import { GROUP, memcachedKind, VERSION } from '../../api/memcached.ts';
import { csvName, REPOSITORY } from './csv.ts';

export const PACKAGE = 'memcached-operator';
export const CHANNEL = 'alpha';

export interface CatalogParts {
  readonly icon: string;
  readonly description: string;
  /** Oldest first; each is an upgrade of the one before it. */
  readonly earlier: readonly string[];
  readonly current: Csv;
}

/** What the catalog repeats of a ClusterServiceVersion, so that consoles need not fetch the bundle. */
export interface Csv {
  readonly metadata: { readonly annotations: object };
  readonly spec: {
    readonly version: string;
    readonly customresourcedefinitions: object;
    readonly relatedImages: readonly object[];
  } & Readonly<Record<(typeof REPEATED)[number], unknown>>;
}

const REPEATED = [
  'description',
  'displayName',
  'installModes',
  'keywords',
  'links',
  'maturity',
  'minKubeVersion',
  'provider',
] as const;

export const bundleImage = (version: string) => `${REPOSITORY}-bundle:v${version}`;

export function catalog({ icon, description, earlier, current }: CatalogParts): object[] {
  const versions = [...earlier, current.spec.version];
  const [first = ''] = versions;
  return [
    {
      schema: 'olm.package',
      name: PACKAGE,
      defaultChannel: CHANNEL,
      description,
      icon: { base64data: Buffer.from(icon).toString('base64'), mediatype: 'image/svg+xml' },
    },
    {
      schema: 'olm.channel',
      package: PACKAGE,
      name: CHANNEL,
      entries: versions.map((version, index) => {
        const before = versions[index - 1];
        // Whatever ran before the first release, a build of one's own, may become it, too.
        const edge = before === undefined ? { skipRange: `<${first}` } : { replaces: csvName(before) };
        return { name: csvName(version), ...edge };
      }),
    },
    ...earlier.map((version) => bundleEntry(version)),
    currentEntry(current),
  ];
}

function bundleEntry(version: string) {
  return {
    schema: 'olm.bundle',
    package: PACKAGE,
    name: csvName(version),
    image: bundleImage(version),
    properties: [
      { type: 'olm.gvk', value: { group: GROUP, kind: memcachedKind.kind, version: VERSION } },
      { type: 'olm.package', value: { packageName: PACKAGE, version } },
    ],
  };
}

function currentEntry({ metadata, spec }: Csv): object {
  const entry = bundleEntry(spec.version);
  const value = {
    annotations: metadata.annotations,
    apiServiceDefinitions: {},
    crdDescriptions: spec.customresourcedefinitions,
    ...Object.fromEntries(REPEATED.map((name) => [name, spec[name]])),
  };
  return {
    ...entry,
    properties: [...entry.properties, { type: 'olm.csv.metadata', value }],
    relatedImages: [...spec.relatedImages, { name: '', image: entry.image }],
  };
}
