import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { chosenRelease, releases } from './kubernetes.ts';

const root = path.dirname(import.meta.dirname);

test('it is the newest unless another one is asked for, and only one that is known', () => {
  expect(chosenRelease({})).toBe(releases.newest);
  expect(chosenRelease({ KUBERNETES: '' })).toBe(releases.newest);
  expect(chosenRelease({ KUBERNETES: 'oldest' })).toBe(releases.oldest);
  expect(() => chosenRelease({ KUBERNETES: '1.2' })).toThrow('KUBERNETES=1.2');
});

test.for(Object.values(releases))('$module pins $version', ({ version, module }) => {
  const pins = readFileSync(path.join(import.meta.dirname, 'modules', module, 'go.mod'), 'utf8');
  expect(pins).toContain(`k8s.io/kubernetes ${version} `);
});

test.for(['charts/memcached-operator/Chart.yaml', 'bundle/manifests/memcached-operator.clusterserviceversion.yaml'])(
  'the oldest is that of %s',
  (file) => {
    expect(readFileSync(path.join(root, file), 'utf8')).toContain(releases.oldest.version.slice(1));
  },
);

test('the oldest is that of the documentation', () => {
  const minor = releases.oldest.version.slice(1).split('.', 2).join('.');
  expect(readFileSync(path.join(root, 'docs/versioning.md'), 'utf8')).toContain(`**Kubernetes**: ${minor} and later`);
});
