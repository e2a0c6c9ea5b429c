import { expect, test } from 'vitest';
import { archiveUris, fileNames, sourcesFile } from './debian.ts';

test('the mirrors are picked by their label', () => {
  const lines =
    'Other http://other.test/x/\nDebian http://mirror.test/debian/\nDebian-Security http://mirror.test/s/\n';
  expect(archiveUris(lines)).toEqual({ debian: 'http://mirror.test/debian/', security: 'http://mirror.test/s/' });
  expect(archiveUris('Debian http://mirror.test/debian/')).toEqual({ debian: 'http://mirror.test/debian/' });
});

test('a machine without Debian among its sources has no mirror', () => {
  expect(archiveUris('')).toBeUndefined();
  expect(archiveUris('Ubuntu http://mirror.test/ubuntu/\nDebian-Security http://mirror.test/s/')).toBeUndefined();
});

test('packages come from Debian 12 with its security updates, sources from sid', () => {
  const file = sourcesFile({ debian: 'http://d.test/', security: 'http://s.test/' }, 'arm64');
  const stanzas = file.trim().split('\n\n');
  const field = (name: string) => stanzas.map((stanza) => new RegExp(`^${name}: (.*)$`, 'm').exec(stanza)?.[1]);
  expect(field('Types')).toEqual(['deb', 'deb', 'deb-src']);
  expect(field('URIs')).toEqual(['http://d.test/', 'http://s.test/', 'http://d.test/']);
  expect(field('Suites')).toEqual(['bookworm', 'bookworm-security', 'sid']);
  expect(field('Signed-By')).not.toContain(undefined);
});

test('the names of package files are read from what apt prints', () => {
  const printed = `Reading package lists...
'http://m.test/zlib1g_1%253a1.2_amd64.deb' zlib1g_1%3a1.2_amd64.deb 86684 SHA256:00
'http://m.test/libc6_2.36_amd64.deb' libc6_2.36_amd64.deb 2759320 SHA256:00
`;
  expect(fileNames(printed)).toEqual(['zlib1g_1%3a1.2_amd64.deb', 'libc6_2.36_amd64.deb']);
});
