import { expect, test } from 'vitest';
import { type DeploymentManifest, textOf, withImage } from './manifests.ts';

const deployment: DeploymentManifest = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'manager', namespace: 'system' },
  spec: {
    selector: { matchLabels: { a: 'b' } },
    template: {
      metadata: { annotations: { kept: 'yes' } },
      spec: { containers: [{ name: 'manager', image: 'old:1' }] },
    },
  },
};

test('a Deployment gets the image, and pods of its own for another image under the same name', () => {
  const { spec } = withImage(deployment, 'new:2', 'sha256:abc') as DeploymentManifest;
  expect(spec.template).toEqual({
    metadata: { annotations: { kept: 'yes', 'memcached.c5c3.io/image-digest': 'sha256:abc' } },
    spec: { containers: [{ name: 'manager', image: 'new:2' }] },
  });
  expect(spec.selector).toEqual(deployment.spec.selector);
});

test('without a digest nothing else changes, and nothing of other kinds does', () => {
  const { spec } = withImage(deployment, 'old:1') as DeploymentManifest;
  expect(spec).toEqual(deployment.spec);
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'x' } };
  expect(withImage(service, 'new:2', 'sha256:abc')).toBe(service);
});

test('several manifests are a stream of JSON, without what only YAML has between documents', () => {
  expect(
    textOf([deployment, deployment])
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([deployment, deployment]);
});
