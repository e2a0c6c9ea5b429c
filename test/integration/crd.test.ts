/** The CRD on a real API server: what it accepts, what it refuses and in which words, and what kubectl makes of it. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { kubeconfigOf } from '../../devcluster/instance.ts';
import { chosenRelease, releases } from '../../devcluster/kubernetes.ts';
import { specSchema } from '../../src/api/schema/spec.ts';
import { describeErrors } from '../../src/api/validation/field-error.ts';
import { structureErrors } from '../../src/api/validation/structure.ts';
import { generatedFiles } from '../../src/generate/files.ts';
import { eventually, ROOT, startCluster, stopCluster, type TestCluster } from '../support/cluster.ts';

const CLUSTER = { name: 'test-crd', form: 'none' } as const;
const CRD = 'memcacheds.memcached.c5c3.io';
/** Its own words, and its own schemas, are compared with those of the newest. */
const IS_OLDEST = chosenRelease() === releases.oldest;

const { signal } = new AbortController();
let cluster: TestCluster;

beforeAll(async () => {
  await stopCluster(CLUSTER);
  cluster = await startCluster(CLUSTER);
  await cluster.kubectl(['apply', '-f', path.join(ROOT, 'config/crd/memcacheds.yaml')]);
  const explain = () => cluster.kubectl(['explain', 'mc']);
  await eventually('the CRD is served and explained', explain, (text) => text.includes('DESCRIPTION'), signal);
});

afterAll(async () => {
  await stopCluster(CLUSTER);
});

function manifest(name: string, fields: object): string {
  return JSON.stringify({ apiVersion: 'memcached.c5c3.io/v1alpha1', kind: 'Memcached', metadata: { name }, ...fields });
}

/** What kubectl says when it is asked to apply this. */
function apply(text: string): Promise<string> {
  return cluster.kubectl(['apply', '-f', '-'], { input: text }).catch((error: unknown) => String(error));
}

async function stored(name: string): Promise<Record<string, unknown>> {
  return JSON.parse(await cluster.kubectl(['get', 'mc', name, '-o', 'json'])) as Record<string, unknown>;
}

test('is established, and nothing of it is not structural', async () => {
  const { status } = JSON.parse(await cluster.kubectl(['get', 'crd', CRD, '-o', 'json'])) as {
    status: { conditions: { type: string; status: string }[] };
  };
  const conditions = status.conditions.map((condition) => `${condition.type}=${condition.status}`);
  expect(conditions.toSorted()).toEqual(['Established=True', 'NamesAccepted=True']);
});

describe('kubectl explain', () => {
  test.for([
    ['mc.spec.tolerations.key', 'Key is the taint key that the toleration applies to'],
    ['mc.spec.memcached.maxItemSize', 'Size of the largest item'],
    ['mc.spec.autoscaling.metrics.resource.target.averageUtilization', 'averageUtilization is the target value'],
    ['mc.spec.security.networkPolicy.allowedSources.ipBlock.cidr', 'cidr is a string representing the IPBlock'],
    ['mc.spec.highAvailability.topologySpreadConstraints', 'How servers are spread over zones'],
    ['mc.status.conditions.reason', 'Why, in one word'],
  ] as const)('%s', async ([field, text]) => {
    // kubectl breaks lines where it likes.
    const explained = (await cluster.kubectl(['explain', field])).replaceAll(/\s+/g, ' ');
    expect(explained).toContain(text);
  });
});

describe('accepts', () => {
  test('the full example, whatever its status says', async () => {
    expect(await apply(FULL_EXAMPLE)).toBe('memcached.memcached.c5c3.io/my-cache created\n');
    const { spec, status } = await stored('my-cache');
    expect(spec).toEqual((parse(FULL_EXAMPLE) as { spec: object }).spec);
    expect(status).toBeUndefined();
  });

  test('no spec at all, and fills in nothing that depends on more', async () => {
    await apply(manifest('no-spec', {}));
    expect(await stored('no-spec')).toMatchObject({ spec: {} });
    await apply(
      manifest('defaults', { spec: { memcached: {}, monitoring: { serviceMonitor: {} }, security: { tls: {} } } }),
    );
    expect((await stored('defaults'))['spec']).toEqual({
      memcached: { maxMemoryMB: 64, maxConnections: 1024, threads: 4, maxItemSize: '1m', verbosity: 0 },
      monitoring: { enabled: false, serviceMonitor: { interval: '30s', scrapeTimeout: '10s' } },
      security: { tls: { enabled: false } },
    });
  });

  test('numbers, percentages and quantities of every kind', async () => {
    const spec = {
      replicas: 0,
      resources: { requests: { cpu: 1, memory: '1.5Gi' }, limits: { cpu: '500m', memory: 1_073_741_824 } },
      highAvailability: { podDisruptionBudget: { minAvailable: '50%', maxUnavailable: 0 } },
      imagePullSecrets: [{ name: 'a' }, { name: 'b' }],
    };
    expect(await apply(manifest('amounts', { spec }))).toContain('created');
  });
});

describe('refuses a typo', () => {
  test.for([
    ['spec.replica', { replica: 1 }],
    ['spec.memcached.maxMemory', { memcached: { maxMemory: 1 } }],
    ['spec.tolerations[0].keys', { tolerations: [{ keys: 'a' }] }],
    ['spec.resources.limit', { resources: { limit: {} } }],
    [
      'spec.security.podSecurityContext.seccompProfile.typ',
      { security: { podSecurityContext: { seccompProfile: { type: 'RuntimeDefault', typ: 1 } } } },
    ],
    [
      'spec.networkPolicy.allowedSources[0].podSelectors',
      { networkPolicy: { allowedSources: [{ podSelectors: {} }] } },
    ],
    ['spec.autoscaling.behavior.scaleDown.window', { autoscaling: { behavior: { scaleDown: { window: 1 } } } }],
    [
      'spec.autoscaling.metrics[0].resource.target.utilization',
      {
        autoscaling: {
          metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', utilization: 1 } } }],
        },
      },
    ],
    [
      'spec.highAvailability.topologySpreadConstraints[0].skew',
      {
        highAvailability: {
          topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'a', whenUnsatisfiable: 'DoNotSchedule', skew: 1 }],
        },
      },
    ],
  ] as const)('%s', async ([field, spec]) => {
    expect(await apply(manifest('typo', { spec }))).toContain(`unknown field "${field}"`);
  });
});

describe('refuses, in the words that the operator uses too', () => {
  test.for([
    { replicas: 65 },
    { replicas: -1 },
    { replicas: 'three' },
    { memcached: { maxMemoryMB: 15 } },
    { memcached: { maxMemoryMB: 65_537 } },
    { memcached: { maxConnections: 0 } },
    { memcached: { threads: 129 } },
    { memcached: { verbosity: 3 } },
    { memcached: { maxItemSize: '1g' } },
    { memcached: { extraArgs: [1] } },
    { autoscaling: { maxReplicas: 65 } },
    { autoscaling: { minReplicas: 0 } },
    { highAvailability: { antiAffinityPreset: 'hardest' } },
    { highAvailability: { podDisruptionBudget: { minAvailable: '101%' } } },
    { highAvailability: { podDisruptionBudget: { minAvailable: -1 } } },
    { highAvailability: { podDisruptionBudget: { maxUnavailable: true } } },
    { monitoring: { serviceMonitor: { interval: 'often' } } },
    { podLabels: { team: 'not a label' } },
    ...(IS_OLDEST ? [] : [{ podLabels: { team: 'a'.repeat(64) } }]), // which says the same in other words
    { imagePullSecrets: [{}] },
  ])('%j', async (spec) => {
    const errors = structureErrors(specSchema, spec, 'spec');
    expect(errors).toHaveLength(1);
    expect(await apply(manifest('refused', { spec }))).toContain(describeErrors(errors));
  });

  test.for([
    ['spec.tolerations[0].effect: Unsupported value: "Never"', { tolerations: [{ effect: 'Never' }] }],
    ['spec.resources.limits.memory: Invalid value: "lots"', { resources: { limits: { memory: 'lots' } } }],
    ['spec.imagePullSecrets[1]: Duplicate value', { imagePullSecrets: [{ name: 'a' }, { name: 'a' }] }],
  ] as const)('as Kubernetes would: %s', async ([text, spec]) => {
    expect(await apply(manifest('refused', { spec }))).toContain(text);
  });
});

test('kubectl scales it, and reads how far that is', async () => {
  await apply(manifest('scaled', { spec: { replicas: 1 } }));
  const status = { replicas: 1, selector: 'app.kubernetes.io/instance=scaled' };
  await cluster.kubectl([
    'patch',
    'mc/scaled',
    '--subresource=status',
    '--type=merge',
    '-p',
    JSON.stringify({ status }),
  ]);
  await cluster.kubectl(['scale', 'mc/scaled', '--replicas=5']);
  expect(await stored('scaled')).toMatchObject({ spec: { replicas: 5 } });
  const scale: unknown = JSON.parse(await cluster.kubectl(['get', 'mc/scaled', '--subresource=scale', '-o', 'json']));
  expect(scale).toMatchObject({ kind: 'Scale', spec: { replicas: 5 }, status });
  await expect(cluster.kubectl(['scale', 'mc/scaled', '--replicas=65'])).rejects.toThrow('less than or equal to 64');
});

test('kubectl prints the columns', async () => {
  await apply(manifest('printed', { spec: { replicas: 3 } }));
  const condition = { status: 'True', message: 'All replicas are ready', lastTransitionTime: '2025-01-15T10:30:00Z' };
  const status = {
    replicas: 3,
    readyReplicas: 2,
    memcachedVersion: '1.6.45',
    currentConnections: 42,
    hitRatio: '0.95',
    observedGeneration: 1,
    serverList: ['printed-0.printed.default.svc:11211'],
    conditions: [
      { ...condition, type: 'Available', reason: 'DeploymentAvailable' },
      { ...condition, type: 'Ready', reason: 'ReplicasNotReady', status: 'False', observedGeneration: 1 },
    ],
  };
  await cluster.kubectl([
    'patch',
    'mc/printed',
    '--subresource=status',
    '--type=merge',
    '-p',
    JSON.stringify({ status }),
  ]);
  const [header = '', line = ''] = (await cluster.kubectl(['get', 'mc', 'printed'])).split('\n');
  expect(header.split(/ {2,}/)).toEqual(['NAME', 'REPLICAS', 'READY', 'STATUS', 'HIT RATIO', 'VERSION', 'AGE']);
  expect(line.split(/ {2,}/)).toEqual([
    'printed',
    '3',
    '2',
    'ReplicasNotReady',
    '0.95',
    '1.6.45',
    expect.stringMatching(/^\d+\w$/),
  ]);
});

describe('generated files', () => {
  const run = promisify(execFile);

  test('the generator leaves them as they are', async () => {
    const read = () => Promise.all(generatedFiles().map(({ name }) => readFile(path.join(ROOT, name), 'utf8')));
    const before = await read();
    await run(process.execPath, ['src/generate/main.ts'], { cwd: ROOT });
    expect(await read()).toEqual(before);
  });

  test.skipIf(IS_OLDEST)('the schemas of Kubernetes are those of this very Kubernetes', async () => {
    const directory = await mkdtemp(path.join(tmpdir(), 'kubernetes-schemas-'));
    const file = path.join(directory, 'schemas.yaml');
    const kubectl = path.join(cluster.instance.directory, 'kubectl');
    await run(process.execPath, ['tools/kubernetes-schemas.ts', kubectl, kubeconfigOf(cluster.instance), file], {
      cwd: ROOT,
    });
    const committed = await readFile(path.join(ROOT, 'src/generate/kubernetes-schemas.yaml'), 'utf8');
    expect(await readFile(file, 'utf8')).toBe(committed);
    await rm(directory, { recursive: true });
  });
});

/** Every section of the specification's own example. */
const FULL_EXAMPLE = `
apiVersion: memcached.c5c3.io/v1alpha1
kind: Memcached
metadata:
  name: my-cache
  namespace: default
spec:
  replicas: 3
  image: memcached:1.6
  resources:
    requests: { cpu: 250m, memory: 256Mi }
    limits: { cpu: "1", memory: 512Mi }
  memcached:
    maxMemoryMB: 256
    maxConnections: 1024
    threads: 4
    maxItemSize: "1m"
    verbosity: 0
    extraArgs: []
  highAvailability:
    antiAffinityPreset: soft
    topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: ScheduleAnyway
    podDisruptionBudget:
      enabled: true
      minAvailable: 1
  monitoring:
    enabled: true
    exporterImage: prom/memcached-exporter:v0.15.4
    exporterResources:
      requests: { cpu: 50m, memory: 32Mi }
      limits: { cpu: 100m, memory: 64Mi }
    serviceMonitor:
      additionalLabels: {}
      interval: 30s
      scrapeTimeout: 10s
  security:
    podSecurityContext:
      runAsNonRoot: true
      runAsUser: 11211
      runAsGroup: 11211
      fsGroup: 11211
      seccompProfile: { type: RuntimeDefault }
    containerSecurityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: { drop: [ALL] }
    sasl:
      enabled: false
      credentialsSecretRef: { name: memcached-sasl-credentials }
    tls:
      enabled: false
      certificateSecretRef: { name: memcached-tls }
  networkPolicy:
    enabled: false
    allowedSources:
      - podSelector: { matchLabels: { app: my-app } }
      - namespaceSelector: { matchLabels: { team: backend } }
  service:
    annotations: {}
  podLabels: {}
  podAnnotations: {}
  nodeSelector: {}
  tolerations: []
  imagePullSecrets: []
status:
  replicas: 3
  readyReplicas: 3
  memcachedVersion: "1.6.40"
  currentConnections: 42
  hitRatio: 0.95
  conditions:
    - type: Available
      status: "True"
      reason: DeploymentAvailable
      message: "Deployment has minimum availability"
      lastTransitionTime: "2025-01-15T10:30:00Z"
`;
