/** The Helm chart: what it renders is what config/ renders, and what it cannot mean it refuses. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { CHART, helm, kustomized, type Manifest, rendered } from '../support/helm.ts';
import { needPrograms } from '../support/programs.ts';

const LATEST = ['--set', 'image.tag=latest'];
/** It is most of what there is to read. */
const NO_CRD = ['--set', 'crds.install=false'];

needPrograms('helm', 'kustomize');

/** What only Helm puts there. */
const HELMS = /^(helm\.sh\/|app\.kubernetes\.io\/(instance|version|managed-by)$)/;

function withoutHelms(words: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(words).filter(([key]) => !HELMS.test(key)));
}

/** By name, without what tells Helm's objects from kustomize's, and without the Namespace, which Helm leaves to its user. */
function comparable(manifests: readonly Manifest[]): Record<string, object> {
  const entries = manifests.flatMap((manifest) => {
    const { kind, metadata } = manifest;
    if (kind === 'Namespace') return [];
    const { labels, annotations, ...rest } = metadata;
    const own = { ...rest, labels: withoutHelms(labels), annotations: withoutHelms(annotations) };
    return [[`${kind} ${metadata.namespace ?? ''}/${metadata.name}`, { ...manifest, metadata: own }] as const];
  });
  expect(new Set(entries.map(([name]) => name)).size).toBe(entries.length);
  return Object.fromEntries(entries);
}

test('lint has nothing to say', async () => {
  const said = await helm(['lint', '--strict', CHART]);
  expect(said).toContain('1 chart(s) linted, 0 chart(s) failed');
});

test.for([
  { directory: ['default'], args: [] },
  { directory: ['cert-manager'], args: ['--set', 'webhooks.certificates=cert-manager'] },
  { directory: ['default', 'network-policy'], args: ['--set', 'networkPolicy.enabled=true'] },
  { directory: ['default', 'prometheus'], args: ['--set', 'metrics.serviceMonitor.enabled=true,alerts.enabled=true'] },
])('it renders what config/ has in $directory', async ({ directory, args }) => {
  const expected = (await Promise.all(directory.map(kustomized))).flat();
  expect(comparable(await rendered([...LATEST, ...args]))).toEqual(comparable(expected));
});

test('for one namespace it renders what config/namespace-scoped has', async () => {
  const inKustomize = comparable(await kustomized('namespace-scoped'));
  const inHelm = comparable(await rendered([...LATEST, '--set', 'watchNamespaces={memcached-operator-system}']));
  // kustomize cannot put the namespace into an argument; the pod tells it.
  const text = JSON.stringify(inKustomize)
    .replace('$(POD_NAMESPACE)', 'memcached-operator-system')
    .replace('"env":[{"name":"POD_NAMESPACE","valueFrom":{"fieldRef":{"fieldPath":"metadata.namespace"}}}],', '');
  expect(inHelm).toEqual(JSON.parse(text));
});

const only = (manifests: readonly Manifest[], kind: string) => manifests.filter((manifest) => manifest.kind === kind);
const names = (manifests: readonly Manifest[]) => manifests.map(({ metadata }) => metadata.name).toSorted();

function containerOf(manifests: readonly Manifest[]): { image: string; args?: string[] } {
  const [deployment] = only(manifests, 'Deployment') as (Manifest & {
    spec: { template: { spec: { containers: [{ image: string; args?: string[] }] } } };
  })[];
  if (!deployment) throw new Error('there is no Deployment');
  return deployment.spec.template.spec.containers[0];
}

test('the image is that of the version, another tag, or a digest', async () => {
  const { version } = JSON.parse(await readFile(path.join(CHART, '../../package.json'), 'utf8')) as { version: string };
  const repository = 'ghcr.io/c5c3/memcached-operator';
  const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;
  expect(containerOf(await rendered(NO_CRD)).image).toBe(`${repository}:v${version}`);
  expect(containerOf(await rendered([...NO_CRD, '--set', 'image.tag=x'])).image).toBe(`${repository}:x`);
  expect(containerOf(await rendered([...NO_CRD, '--set', `image.digest=${digest}`])).image).toBe(
    `${repository}@${digest}`,
  );
});

test('values become flags', async () => {
  const sets = {
    watchNamespaces: '{a,b}',
    'defaultImages.memcached': 'mirror/memcached:1',
    'defaultImages.exporter': 'mirror/exporter:1',
    logLevel: 'debug',
    'metrics.enabled': 'false',
    'webhooks.enabled': 'false',
    extraArgs: '{--concurrency=4}',
  };
  const flags = Object.entries(sets).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
  const all = await rendered([...NO_CRD, ...flags]);
  expect(containerOf(all).args).toEqual([
    '--watch-namespaces=a,b',
    '--enable-webhooks=false',
    '--metrics-bind-address=0',
    '--default-image=mirror/memcached:1',
    '--default-exporter-image=mirror/exporter:1',
    '--log-level=debug',
    '--concurrency=4',
  ]);
  expect(names(only(all, 'Service'))).toEqual([]);
  expect(only(all, 'Role').map(({ metadata }) => metadata.namespace)).toEqual(['memcached-operator-system', 'a', 'b']);
  // Nothing is allowed for the sake of webhooks that are not served.
  expect(JSON.stringify(all)).not.toMatch(/webhookconfigurations|webhook-certificate/);
});

const POD = 'spec.template.spec';
const CONTAINER = `${POD}.containers[0]`;
const SPREAD = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' };
const ZONE = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'Exists' }] }] };
const AFFINITY = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: ZONE } };
const ISSUER = { kind: 'ClusterIssuer', name: 'internal' };
/** The operator knows itself by these: nobody may change them. */
const SELECTED = {
  'app.kubernetes.io/name': 'memcached-operator',
  'app.kubernetes.io/component': 'controller-manager',
};
const NOT_OURS = { 'app.kubernetes.io/name': 'another' };
const PEER = { ipBlock: { cidr: '10.0.0.0/8' } };

/** What is set, in which objects and where it has to be; and as what, where that is not what was set. */
const PLACES: readonly [value: string, set: unknown, kind: string, at: string, is?: unknown][] = [
  ['replicas', 3, 'Deployment', 'spec.replicas'],
  ['image.repository', 'mirror/operator', 'Deployment', `${CONTAINER}.image`, 'mirror/operator:latest'],
  ['image.pullPolicy', 'Always', 'Deployment', `${CONTAINER}.imagePullPolicy`],
  ['imagePullSecrets', [{ name: 'mirror' }], 'Deployment', `${POD}.imagePullSecrets`],
  ['fullnameOverride', 'caches', 'Deployment', 'metadata.name', 'caches-controller-manager'],
  ['serviceAccount.annotations', { role: 'a' }, 'ServiceAccount', 'metadata.annotations'],
  ['resources.requests', { cpu: '20m', memory: null }, 'Deployment', `${CONTAINER}.resources.requests`, { cpu: '20m' }],
  ['resources.limits', { cpu: 2, memory: null }, 'Deployment', `${CONTAINER}.resources.limits`, { cpu: 2 }],
  ['podLabels', { ...NOT_OURS, team: 'a' }, 'Deployment', 'spec.template.metadata.labels', { ...SELECTED, team: 'a' }],
  ['podAnnotations', { team: 'b' }, 'Deployment', 'spec.template.metadata.annotations.team', 'b'],
  ['priorityClassName', 'system-cluster-critical', 'Deployment', `${POD}.priorityClassName`],
  ['nodeSelector', { disk: 'ssd' }, 'Deployment', `${POD}.nodeSelector`, { 'kubernetes.io/os': 'linux', disk: 'ssd' }],
  ['tolerations', [{ key: 'control', operator: 'Exists' }], 'Deployment', `${POD}.tolerations`],
  ['affinity', AFFINITY, 'Deployment', `${POD}.affinity`],
  ['topologySpreadConstraints', [SPREAD], 'Deployment', `${POD}.topologySpreadConstraints`],
  ['webhooks.issuerRef', ISSUER, 'Certificate', 'spec.issuerRef'],
  ['metrics.serviceMonitor.labels', { team: 'c' }, 'ServiceMonitor', 'metadata.labels.team', 'c'],
  ['metrics.serviceMonitor.interval', '15s', 'ServiceMonitor', 'spec.endpoints[0].interval'],
  ['alerts.labels', { team: 'd' }, 'PrometheusRule', 'metadata.labels.team', 'd'],
  ['dashboards.labels', { team: 'e' }, 'ConfigMap', 'metadata.labels.team', 'e'],
  ['dashboards.annotations', { team: 'f' }, 'ConfigMap', 'metadata.annotations', { team: 'f' }],
  ['networkPolicy.metricsFrom', [PEER], 'NetworkPolicy', 'spec.ingress[1].from'],
  ['networkPolicy.apiServerPorts', [7443], 'NetworkPolicy', 'spec.egress[0].ports', [{ port: 7443 }]],
];

test('each value is where it belongs', async () => {
  const on = ['metrics.serviceMonitor', 'alerts', 'dashboards', 'networkPolicy'].map((part) => `${part}.enabled=true`);
  const switches = ['--set', [...on, 'webhooks.certificates=cert-manager'].join()];
  const sets = PLACES.flatMap(([value, set]) => ['--set-json', `${value}=${JSON.stringify(set)}`]);
  const all = await rendered([...NO_CRD, ...LATEST, ...switches, ...sets]);
  for (const [value, set, kind, at, is = set] of PLACES) {
    const objects = only(all, kind);
    expect.soft(objects, value).not.toEqual([]);
    for (const object of objects) expect.soft(object, value).toHaveProperty(at, is);
  }
  // Another issuer needs no authority of the chart's own.
  expect(names(only(all, 'Issuer'))).toEqual([]);
  expect(names(only(all, 'Certificate'))).toEqual(['memcached-operator-webhook']);
});

test('metrics that nobody may read let nobody in', async () => {
  const policy = { enabled: true, metricsFrom: [] };
  const all = await rendered([...NO_CRD, '--set-json', `networkPolicy=${JSON.stringify(policy)}`]);
  expect(only(all, 'NetworkPolicy')[0]).toHaveProperty('spec.ingress', [{ ports: [{ port: 'webhooks' }] }]);
});

test('what is switched off is not there, and what is switched on is', async () => {
  const off = ['crds.install', 'rbac.userRoles', 'podDisruptionBudget.enabled'].flatMap((one) => [
    '--set',
    `${one}=false`,
  ]);
  const without = await rendered(off);
  expect(only(without, 'CustomResourceDefinition')).toEqual([]);
  expect(only(without, 'PodDisruptionBudget')).toEqual([]);
  expect(names(only(without, 'ClusterRole')).filter((name) => /viewer|editor/.test(name))).toEqual([]);
  const one = await rendered([...NO_CRD, '--set', 'replicas=1']);
  expect(only(one, 'PodDisruptionBudget')).toEqual([]);
  const reader = { name: 'prometheus', namespace: 'monitoring' };
  const readers = [...NO_CRD, '--set-json', `metrics.readers=${JSON.stringify([reader])}`];
  expect(only(await rendered(readers), 'ClusterRoleBinding')).toContainEqual(
    expect.objectContaining({
      metadata: expect.objectContaining({ name: 'memcached-operator-metrics-reader' }),
      subjects: [{ kind: 'ServiceAccount', ...reader }],
    }),
  );
});

test('dashboards become ConfigMaps that Grafana finds, letter by letter', async () => {
  const all = await rendered([...NO_CRD, '--set', 'dashboards.enabled=true']);
  const maps = only(all, 'ConfigMap') as (Manifest & { data: Readonly<Record<string, string>> })[];
  const directory = path.join(CHART, 'dashboards');
  const files = await readdir(directory);
  expect(new Set(maps.flatMap(({ data }) => Object.keys(data)))).toEqual(new Set(files));
  for (const { metadata, data } of maps) {
    expect(metadata.labels).toHaveProperty('grafana_dashboard', '1');
    for (const [name, text] of Object.entries(data))
      expect(text.trim()).toBe((await readFile(path.join(directory, name), 'utf8')).trim());
  }
});

test('the definition stays behind, unless it shall not', async () => {
  const policy = (manifests: Manifest[]) =>
    only(manifests, 'CustomResourceDefinition')[0]?.metadata.annotations?.['helm.sh/resource-policy'];
  expect(policy(await rendered())).toBe('keep');
  expect(policy(await rendered(['--set', 'crds.keep=false']))).toBeUndefined();
});

test('a release of another name has names of its own where several may be', async () => {
  const other = await rendered(NO_CRD, 'team-a');
  expect(names(only(other, 'ClusterRole'))).toContain('team-a-memcached-manager-role');
  expect(names(only(other, 'Deployment'))).toEqual(['team-a-memcached-controller-manager']);
  expect(names(only(other, 'Service'))).toContain('memcached-operator-webhook-service'); // which its certificate names
});

test.for([
  ['replica=1', "additional properties 'replica' not allowed"],
  ['replicas=0', 'replicas'],
  ['webhooks.certificates=letsencrypt', 'certificates'],
  ['watchNamespaces={UPPER}', 'watchNamespaces'],
  ['image.digest=abc', 'digest'],
  ['logLevel=warn', 'logLevel'],
])('%s is refused', async ([set = '', complaint = '']) => {
  await expect(rendered(['--set', set])).rejects.toThrow(complaint);
});

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
}

/** Where the two differ. Below a list, or what is empty by default, the values have nothing to show. */
function differences(value: unknown, { properties, additionalProperties }: Schema, at = ''): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || Object.keys(value).length === 0) return [];
  if (!properties) return additionalProperties ? [] : [`the schema does not say what may be in ${at}`];
  const loose = additionalProperties === false ? [] : [`the schema allows more in ${at}`];
  const shown = new Map<string, unknown>(Object.entries(value));
  const keys = new Set([...shown.keys(), ...Object.keys(properties)]);
  const inside = [...keys].flatMap((key) => {
    const property = properties[key];
    const name = `${at}.${key}`;
    if (!property) return [`${name} is not in the schema`];
    return shown.has(key) ? differences(shown.get(key), property, name) : [`${name} is not in the values`];
  });
  return [...loose, ...inside];
}

test('every value is in the schema, and the schema has no other', async () => {
  const values = parse(await helm(['show', 'values', CHART])) as object;
  const schema = JSON.parse(await readFile(path.join(CHART, 'values.schema.json'), 'utf8')) as Schema;
  const helms = { global: {} };
  expect(differences({ ...values, ...helms }, schema)).toEqual([]);
});
