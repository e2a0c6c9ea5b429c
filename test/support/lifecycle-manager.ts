/** What the Operator Lifecycle Manager makes of a bundle, done by hand: it cannot run without an image registry. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'yaml';
import { createCertificate } from '../../src/runtime/certificates/certificate.ts';
import { ROOT } from './cluster.ts';

interface Csv {
  readonly kind: 'ClusterServiceVersion';
  readonly spec: {
    readonly install: { readonly spec: Installation };
    readonly webhookdefinitions: readonly WebhookDefinition[];
  };
}

interface Installation {
  readonly deployments: readonly {
    readonly name: string;
    readonly label: object;
    readonly spec: {
      readonly selector: { readonly matchLabels: object };
      readonly template: { readonly spec: { readonly containers: readonly object[] } };
    };
  }[];
  readonly clusterPermissions: readonly Permission[];
  readonly permissions: readonly Permission[];
}

interface Permission {
  readonly serviceAccountName: string;
  readonly rules: readonly object[];
}

interface WebhookDefinition {
  readonly type: string;
  readonly generateName: string;
  readonly deploymentName: string;
  readonly containerPort: number;
  readonly targetPort: string;
  readonly webhookPath: string;
  readonly rules: readonly object[];
  readonly failurePolicy: string;
  readonly sideEffects: string;
  readonly admissionReviewVersions: readonly string[];
  readonly timeoutSeconds: number;
  readonly reinvocationPolicy?: string;
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

/** Where it mounts the certificate of the webhooks. */
const MOUNT = '/tmp/k8s-webhook-server/serving-certs';
const RBAC = 'rbac.authorization.k8s.io';
const ACROSS = new Set(['ClusterRole', 'CustomResourceDefinition']);

/** The objects that make the bundle's operator run in the namespace, with this image in place of the released one. */
export async function objectsOf(namespace: string, image: string): Promise<object[]> {
  const directory = path.join(ROOT, 'bundle/manifests');
  const files = await Promise.all(
    (await readdir(directory)).map((name) => readFile(path.join(directory, name), 'utf8')),
  );
  const manifests = files.map((text) => parse(text) as Manifest | Csv);
  const csv = manifests.find((one): one is Csv => one.kind === 'ClusterServiceVersion');
  if (!csv) throw new Error(`${directory} has no ClusterServiceVersion`);
  const { deployments, clusterPermissions, permissions } = csv.spec.install.spec;
  const others = manifests.filter((one): one is Manifest => one.kind !== 'ClusterServiceVersion');
  return [
    ...others.map((one) => (ACROSS.has(one.kind) ? one : { ...one, metadata: { ...one.metadata, namespace } })),
    ...clusterPermissions.flatMap((one) => granted('ClusterRole', one, namespace)),
    ...permissions.flatMap((one) => granted('Role', one, namespace)),
    ...deployments.flatMap((one) => [
      deploymentOf(one, namespace, image),
      ...webhooksOf(one, csv.spec.webhookdefinitions, namespace),
    ]),
  ];
}

function granted(kind: 'Role' | 'ClusterRole', { serviceAccountName, rules }: Permission, namespace: string): object[] {
  const apiVersion = `${RBAC}/v1`;
  const account = { name: serviceAccountName, namespace };
  const metadata = { name: 'from-bundle', ...(kind === 'Role' && { namespace }) };
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account },
    { apiVersion, kind, metadata, rules },
    {
      apiVersion,
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup: RBAC, kind, name: metadata.name },
      subjects: [{ kind: 'ServiceAccount', ...account }],
    },
  ];
}

type Deployment = Installation['deployments'][number];

function deploymentOf({ name, label, spec }: Deployment, namespace: string, image: string): object {
  const mounted = spec.template.spec.containers.map((container) => ({
    ...container,
    image,
    volumeMounts: [{ name: 'webhook-cert', mountPath: MOUNT }],
  }));
  const volumes = [{ name: 'webhook-cert', secret: { secretName: `${name}-service-cert` } }];
  const pod = { ...spec.template.spec, containers: mounted, volumes };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels: label },
    spec: { ...spec, template: { ...spec.template, spec: pod } },
  };
}

/** A Service, a certificate for its name, and webhooks that trust it. */
function webhooksOf(
  { name, spec }: Deployment,
  definitions: readonly WebhookDefinition[],
  namespace: string,
): object[] {
  const service = { name: `${name}-service`, namespace };
  const life = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 86_400_000) };
  const { certificate, key } = createCertificate({
    subject: service.name,
    dnsNames: [`${service.name}.${namespace}.svc`],
    ...life,
  });
  const ours = definitions.filter(({ deploymentName }) => deploymentName === name);
  const [{ containerPort: port, targetPort } = { containerPort: 0, targetPort: '' }] = ours;
  return [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `${service.name}-cert`, namespace },
      stringData: { 'tls.crt': certificate, 'tls.key': key },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: service,
      spec: { selector: spec.selector.matchLabels, ports: [{ port, targetPort }] },
    },
    ...ours.map((definition) => configurationOf(definition, service, certificate)),
  ];
}

function configurationOf(definition: WebhookDefinition, service: object, authority: string): object {
  const { type, generateName: name, webhookPath, containerPort: port, rules, failurePolicy, sideEffects } = definition;
  const { admissionReviewVersions, timeoutSeconds, reinvocationPolicy } = definition;
  const clientConfig = {
    service: { ...service, path: webhookPath, port },
    caBundle: Buffer.from(authority).toString('base64'),
  };
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: type.replace('AdmissionWebhook', 'WebhookConfiguration'),
    metadata: { name: `${name}-from-bundle` },
    webhooks: [
      {
        name,
        clientConfig,
        rules,
        failurePolicy,
        sideEffects,
        admissionReviewVersions,
        timeoutSeconds,
        ...(reinvocationPolicy && { reinvocationPolicy }),
      },
    ],
  };
}
