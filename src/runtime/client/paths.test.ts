/** Kinds and the paths at which the API serves them. */
import { expect, test } from 'vitest';
import { pathOf, withQuery } from './paths.ts';

const secrets = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true };
const deployments = { apiVersion: 'apps/v1', kind: 'Deployment', plural: 'deployments', namespaced: true };
const nodes = { apiVersion: 'v1', kind: 'Node', plural: 'nodes', namespaced: false };

test.for([
  { kind: secrets, place: { namespace: 'a', name: 'b' }, path: '/api/v1/namespaces/a/secrets/b' },
  { kind: secrets, place: { namespace: 'a' }, path: '/api/v1/namespaces/a/secrets' },
  { kind: secrets, place: {}, path: '/api/v1/secrets' },
  { kind: nodes, place: { name: 'b' }, path: '/api/v1/nodes/b' },
  { kind: nodes, place: { namespace: 'a', name: 'b' }, path: '/api/v1/nodes/b' },
  { kind: deployments, place: {}, path: '/apis/apps/v1/deployments' },
  {
    kind: deployments,
    place: { namespace: 'a', name: 'b', subresource: 'status' },
    path: '/apis/apps/v1/namespaces/a/deployments/b/status',
  },
  { kind: nodes, place: { name: 'a/b?c' }, path: '/api/v1/nodes/a%2Fb%3Fc' },
])('$path', ({ kind, place, path }) => {
  expect(pathOf(kind, place)).toBe(path);
});

test.for([
  { kind: secrets, place: { name: 'b' } },
  { kind: secrets, place: { namespace: 'a', name: '' } },
  { kind: secrets, place: { namespace: '', name: 'b' } },
  { kind: nodes, place: { name: '..' } },
])('what addresses nothing, or something else, is refused: $place', ({ kind, place }) => {
  expect(() => pathOf(kind, place)).toThrow(TypeError);
});

test('parameters without a value are left out', () => {
  expect(withQuery('/api', {})).toBe('/api');
  expect(withQuery('/api', { a: undefined })).toBe('/api');
  expect(withQuery('/api', { labelSelector: 'a=b,c in (d)', limit: 5, force: false, a: undefined })).toBe(
    '/api?labelSelector=a%3Db%2Cc+in+%28d%29&limit=5&force=false',
  );
});
