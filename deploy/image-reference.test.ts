import { expect, test } from 'vitest';
import { Problem } from '../devcluster/problem.ts';
import { fullReference } from './image-reference.ts';

const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;

test.each([
  ['ghcr.io/c5c3/memcached-operator:latest', 'ghcr.io/c5c3/memcached-operator:latest'],
  ['ghcr.io/c5c3/memcached-operator', 'ghcr.io/c5c3/memcached-operator:latest'],
  ['localhost/operator:1', 'localhost/operator:1'],
  ['localhost:5000/operator', 'localhost:5000/operator:latest'],
  ['registry:5000/team/operator:v1.2_3', 'registry:5000/team/operator:v1.2_3'],
  ['operator:dev', 'docker.io/library/operator:dev'],
  ['c5c3/operator', 'docker.io/c5c3/operator:latest'],
  [`quay.io/c5c3/operator@${digest}`, `quay.io/c5c3/operator@${digest}`],
  [`quay.io/c5c3/operator:v1@${digest}`, `quay.io/c5c3/operator:v1@${digest}`],
])('%s is in full %s', (reference, full) => {
  expect(fullReference(reference)).toBe(full);
  expect(fullReference(full)).toBe(full);
});

test.each(['', ':tag', 'UPPER/case:1', 'a b', 'name:', 'name:tag with blank', 'ghcr.io/', 'x@sha256:123', '$(id):1'])(
  '%j names no image',
  (reference) => expect(() => fullReference(reference)).toThrow(Problem),
);
