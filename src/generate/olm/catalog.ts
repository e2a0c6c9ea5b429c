/** The file-based catalog: which versions there are, and which of them replaces which. */
import { GROUP, memcachedKind, VERSION } from '../../api/memcached.ts';
import { csvName, REPOSITORY } from './csv.ts';

export const PACKAGE = 'memcached-operator';
export const CHANNEL = 'alpha';

export interface CatalogParts {
  readonly icon: string;
  readonly description: string;
  /** Oldest first; each is an upgrade of the one before it. */
  readonly versions: readonly string[];
}

export const bundleImage = (version: string) => `${REPOSITORY}-bundle:v${version}`;

export function catalog({ icon, description, versions }: CatalogParts): object[] {
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
    ...versions.map(bundleEntry),
  ];
}

function bundleEntry(version: string): object {
  return {
    schema: 'olm.bundle',
    package: PACKAGE,
    name: csvName(version),
    image: bundleImage(version),
    properties: [
      { type: 'olm.package', value: { packageName: PACKAGE, version } },
      { type: 'olm.gvk', value: { group: GROUP, kind: memcachedKind.kind, version: VERSION } },
    ],
  };
}
