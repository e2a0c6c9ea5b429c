/** The ClusterServiceVersion: how the Operator Lifecycle Manager installs the operator, and what its console shows of it. */
import { defaultValues } from '../../api/default-values.ts';
import { GROUP, memcachedKind, VERSION } from '../../api/memcached.ts';
import { children } from '../../children/index.ts';
import { configurationFor, mutation, registrations } from '../../webhooks/configurations.ts';
import { DESCRIPTION } from '../crd.ts';
import { rulesOf } from '../permissions.ts';
import { SERVICE_ACCOUNT } from '../rbac.ts';
import { specDescriptors, statusDescriptors } from './descriptors.ts';

/** Where the Lifecycle Manager mounts the certificate that it makes for webhooks. */
const CERTIFICATE = '/tmp/k8s-webhook-server/serving-certs';
const HOME = 'https://github.com/c5c3/memcached-operator';
export const REPOSITORY = 'ghcr.io/c5c3/memcached-operator';

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env?: readonly object[];
}

/** As config/manager has it. */
export interface OperatorDeployment {
  readonly metadata: { readonly name: string; readonly labels: object };
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly Container[] } };
  };
}

export interface CsvParts {
  readonly version: string;
  /** The operator's. */
  readonly image: string;
  readonly deployment: OperatorDeployment;
  /** Memcacheds that a console offers to begin with. */
  readonly examples: readonly object[];
  /** In SVG. */
  readonly icon: string;
  readonly description: string;
}

export function csv(parts: CsvParts): object {
  const { version, image, deployment } = parts;
  const permissions = (rules: readonly object[]) => [{ serviceAccountName: SERVICE_ACCOUNT, rules }];
  return {
    apiVersion: 'operators.coreos.com/v1alpha1',
    kind: 'ClusterServiceVersion',
    metadata: { name: csvName(version), namespace: 'placeholder', annotations: annotations(parts) },
    spec: {
      ...about(parts),
      customresourcedefinitions: { owned: [definition()] },
      install: {
        strategy: 'deployment',
        spec: {
          deployments: [deploymentFor(deployment, image)],
          clusterPermissions: permissions(rulesOf('watched', 'cluster')),
          permissions: permissions(rulesOf('own')),
        },
      },
      installModes: ['OwnNamespace', 'SingleNamespace', 'MultiNamespace', 'AllNamespaces'].map((type) => ({
        type,
        supported: type === 'AllNamespaces',
      })),
      relatedImages: [
        { name: 'manager', image },
        ...operands().map((operand) => ({ name: operand.name, image: operand.image })),
      ],
      webhookdefinitions: webhookDefinitions(deployment.metadata.name),
    },
  };
}

export const csvName = (version: string) => `memcached-operator.v${version}`;

export const imageOf = (version: string) => `${REPOSITORY}:v${version}`;

/** The images that the operator runs; mirrors replace them by these variables. */
function operands() {
  return [
    { name: 'memcached', variable: 'RELATED_IMAGE_MEMCACHED', image: defaultValues.image },
    { name: 'memcached-exporter', variable: 'RELATED_IMAGE_MEMCACHED_EXPORTER', image: defaultValues.exporterImage },
  ];
}

function annotations({ image, examples }: CsvParts): object {
  return {
    'alm-examples': JSON.stringify(examples, undefined, 2),
    capabilities: 'Seamless Upgrades',
    categories: 'Database',
    containerImage: image,
    description: 'Runs memcached servers, with names that stay',
    repository: HOME,
    support: 'c5c3',
    'operators.operatorframework.io/suggested-namespace': 'memcached-operator-system',
  };
}

function about({ version, icon, description }: CsvParts): object {
  return {
    displayName: 'Memcached Operator',
    version,
    maturity: 'alpha',
    minKubeVersion: '1.31.0',
    description,
    provider: { name: 'c5c3', url: 'https://github.com/c5c3' },
    keywords: ['memcached', 'cache', 'keystone', 'openstack'],
    links: [
      { name: 'Documentation', url: `${HOME}/blob/main/docs/README.md` },
      { name: 'Source', url: HOME },
    ],
    icon: [{ base64data: Buffer.from(icon).toString('base64'), mediatype: 'image/svg+xml' }],
  };
}

function definition(): object {
  const { kind, plural } = memcachedKind;
  const owned = children.map((child) => ({
    kind: child.kind.kind,
    name: '',
    version: child.kind.apiVersion.split('/').at(-1),
  }));
  return {
    name: `${plural}.${GROUP}`,
    version: VERSION,
    kind,
    displayName: kind,
    description: DESCRIPTION,
    resources: [...owned, { kind: 'Pod', name: '', version: 'v1' }],
    specDescriptors,
    statusDescriptors,
  };
}

/** The Deployment of config/, with an image, the names of its operands, and the certificate of the Lifecycle Manager. */
function deploymentFor({ metadata, spec }: OperatorDeployment, image: string): object {
  const containers = spec.template.spec.containers.map((container) => ({
    ...container,
    image,
    args: [...(container.args ?? []), `--webhook-cert-dir=${CERTIFICATE}`],
    env: [...(container.env ?? []), ...operands().map((operand) => ({ name: operand.variable, value: operand.image }))],
  }));
  const template = { ...spec.template, spec: { ...spec.template.spec, containers } };
  return { name: metadata.name, label: metadata.labels, spec: { ...spec, template } };
}

/** Who is called is left to the Lifecycle Manager. */
function webhookDefinitions(deploymentName: string): object[] {
  return registrations.flatMap((registration) => {
    const { webhooks = [] } = configurationFor(registration, 'memcached-operator', {});
    return webhooks.map(({ name, clientConfig, ...webhook }) => ({
      ...clientConfig,
      ...webhook,
      type: registration === mutation ? 'MutatingAdmissionWebhook' : 'ValidatingAdmissionWebhook',
      generateName: name,
      deploymentName,
      containerPort: 443,
      targetPort: 'webhooks',
      webhookPath: registration.path,
    }));
  });
}
