import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { type Memcached, validate, withDefaults } from '../../api/index.ts';
import { annotations, bundle, releasedCatalog } from './index.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');

interface Installation {
  readonly deployments: readonly { readonly name: string; readonly label: object; readonly spec: Deployment['spec'] }[];
  readonly clusterPermissions: readonly Permission[];
  readonly permissions: readonly Permission[];
}

interface Permission {
  readonly serviceAccountName: string;
  readonly rules: readonly object[];
}

interface Csv {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly spec: {
    readonly version: string;
    readonly install: { readonly spec: Installation };
    readonly webhookdefinitions: readonly (Readonly<Record<string, unknown>> & { readonly generateName: string })[];
  };
}

interface Deployment {
  readonly metadata: { readonly name: string; readonly labels: object };
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly Readonly<Record<string, unknown>>[] } };
  };
}

interface Manifest {
  readonly kind: string;
  readonly rules?: readonly object[];
  readonly subjects?: readonly { readonly name: string }[];
  readonly webhooks?: readonly (Readonly<Record<string, unknown>> & { readonly name: string })[];
}

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');
const all = (file: string) => parseAllDocuments(read(file)).map((document) => document.toJS() as Manifest);
const definition = { kind: 'CustomResourceDefinition' };
const files = bundle(ROOT, definition);
const csv = files['manifests/memcached-operator.clusterserviceversion.yaml']?.[0] as Csv;
const { deployments, clusterPermissions, permissions } = csv.spec.install.spec;

test('the Deployment is that of config/, with the image of the version and the certificate that is mounted', () => {
  const { metadata, spec } = parse(read('config/manager/deployment.yaml')) as Deployment;
  const [ours] = deployments;
  expect(deployments).toHaveLength(1);
  expect([ours?.name, ours?.label]).toEqual([metadata.name, metadata.labels]);
  const [manager, ...others] = ours?.spec.template.spec.containers ?? [];
  const { image, args, env, ...rest } = manager ?? {};
  expect(others).toEqual([]);
  expect(image).toBe(`ghcr.io/c5c3/memcached-operator:v${csv.spec.version}`);
  expect(args).toEqual(['--webhook-cert-dir=/tmp/k8s-webhook-server/serving-certs']);
  expect(env).toEqual([
    { name: 'RELATED_IMAGE_MEMCACHED', value: 'memcached:1.6' },
    { name: 'RELATED_IMAGE_MEMCACHED_EXPORTER', value: 'prom/memcached-exporter:v0.15.4' },
  ]);
  const { image: _, ...inConfig } = spec.template.spec.containers[0] ?? {};
  expect(rest).toEqual(inConfig);
  const podWithout = (one: Deployment['spec'] | undefined) => ({
    ...one,
    template: { ...one?.template, spec: { ...one?.template.spec, containers: [] } },
  });
  expect(podWithout(ours?.spec)).toEqual(podWithout(spec));
});

test('another image is named wherever that of the version would be', () => {
  const image = 'registry.example.com/memcached-operator:mine';
  const own = `ghcr.io/c5c3/memcached-operator:v${csv.spec.version}`;
  const replaced = (made: unknown) => JSON.parse(JSON.stringify(made).replaceAll(own, image)) as unknown;
  expect(JSON.stringify(files)).toContain(own);
  expect(bundle(ROOT, definition, image)).toEqual(replaced(files));
  expect(releasedCatalog(ROOT, { image })).toEqual(replaced(releasedCatalog(ROOT)));
});

test('the permissions are those of config/', () => {
  const roles = all('config/rbac/role.yaml');
  const rulesOf = (kind: string) =>
    roles.filter((role) => role.kind === kind && JSON.stringify(role).includes('manager-role'));
  expect(clusterPermissions.map(({ rules }) => rules)).toEqual(rulesOf('ClusterRole').map(({ rules }) => rules));
  expect(permissions.map(({ rules }) => rules)).toEqual(rulesOf('Role').map(({ rules }) => rules));
  const accounts = roles.flatMap(({ subjects = [] }) => subjects.map(({ name }) => name));
  const used = [...clusterPermissions, ...permissions].map(({ serviceAccountName }) => serviceAccountName);
  expect(new Set(used)).toEqual(new Set(accounts));
});

test('the webhooks are those of config/', () => {
  const inConfig = all('config/webhook/webhooks.yaml').flatMap(({ kind, webhooks = [] }) =>
    webhooks.map(({ name, clientConfig, ...webhook }) => {
      const { service } = clientConfig as { service: { path: string; port: number } };
      const type = kind.replace('WebhookConfiguration', 'AdmissionWebhook');
      return { ...webhook, type, generateName: name, webhookPath: service.path, containerPort: service.port };
    }),
  );
  const ours = csv.spec.webhookdefinitions.map(({ deploymentName, targetPort, ...rest }) => {
    expect([deploymentName, targetPort]).toEqual([deployments[0]?.name, 'webhooks']);
    return rest;
  });
  expect(ours).toEqual(inConfig);
});

test('every example would be admitted', () => {
  const examples = JSON.parse(csv.metadata.annotations['alm-examples'] ?? '[]') as Memcached[];
  expect(examples.map(({ metadata }) => metadata.name)).toEqual([
    'basic-cache',
    'ha-cache',
    'secure-cache',
    'scaling-cache',
  ]);
  expect(examples.flatMap((example) => validate(withDefaults(example) as Memcached))).toEqual([]);
});

test('nothing in the bundle says where it goes', () => {
  const { 'manifests/memcached-operator.clusterserviceversion.yaml': _, ...others } = files;
  expect(JSON.stringify(others)).not.toContain('memcached-operator-system');
});

test('the image is labelled as the bundle is annotated', () => {
  const labels = [...read('bundle.Dockerfile').matchAll(/^LABEL (.*)=(.*)$/gm)].map(([, name, value]) => [name, value]);
  expect(Object.fromEntries(labels)).toEqual(annotations());
});

test('each version replaces the one before it, and the first one whatever was there before', () => {
  const [, channel] = releasedCatalog(ROOT, { earlier: ['0.0.1', '0.0.2'] }) as { entries: object[] }[];
  const { version } = csv.spec;
  expect(channel?.entries).toEqual([
    { name: 'memcached-operator.v0.0.1', skipRange: '<0.0.1' },
    { name: 'memcached-operator.v0.0.2', replaces: 'memcached-operator.v0.0.1' },
    { name: `memcached-operator.v${version}`, replaces: 'memcached-operator.v0.0.2' },
  ]);
});
