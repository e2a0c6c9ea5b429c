/** How the API server is told to ask us about Memcacheds. */
import { GROUP, memcachedKind, VERSION } from '../api/memcached.ts';
import type { Kind } from '../kubernetes/object.ts';
import type { Webhook, WebhookClientConfig, WebhookConfiguration } from '../kubernetes/webhook-configuration.ts';
import { MUTATE_PATH, VALIDATE_PATH } from './endpoint.ts';

const apiVersion = 'admissionregistration.k8s.io/v1';

interface Registration {
  readonly kind: Kind;
  /** Where the server of the webhooks answers. */
  readonly path: string;
  readonly resources: readonly string[];
  /** What the one webhook is called that the configuration has. */
  readonly webhook: string;
  readonly suffix: string;
}

const { plural } = memcachedKind;

export const mutation: Registration = {
  kind: {
    apiVersion,
    kind: 'MutatingWebhookConfiguration',
    plural: 'mutatingwebhookconfigurations',
    namespaced: false,
  },
  path: MUTATE_PATH,
  resources: [plural], // a Scale has nothing that could be defaulted
  webhook: `mutation.${GROUP}`,
  suffix: 'mutating-webhook-configuration',
};

export const validation: Registration = {
  kind: {
    apiVersion,
    kind: 'ValidatingWebhookConfiguration',
    plural: 'validatingwebhookconfigurations',
    namespaced: false,
  },
  path: VALIDATE_PATH,
  resources: [plural, `${plural}/scale`],
  webhook: `validation.${GROUP}`,
  suffix: 'validating-webhook-configuration',
};

/** In the order in which the API server asks. */
export const registrations: readonly Registration[] = [mutation, validation];

/** The operator in the cluster, and one on a developer's machine beside it, do not share them. */
export type Where = 'memcached-operator' | 'memcached-operator-local';

export function configurationName(where: Where, { suffix }: Registration): string {
  return `${where}-${suffix}`;
}

/** The Service that leads to all replicas. */
export function webhookService(namespace: string): { readonly name: string; readonly namespace: string } {
  return { name: 'memcached-operator-webhook-service', namespace };
}

/** The configuration for the webhook at that path of that client. */
export function configurationFor(
  registration: Registration,
  where: Where,
  clientConfig: WebhookClientConfig,
): WebhookConfiguration {
  const { kind } = registration;
  const webhook: Webhook = {
    name: registration.webhook,
    clientConfig,
    rules: [
      {
        apiGroups: [GROUP],
        apiVersions: [VERSION],
        resources: registration.resources,
        operations: ['CREATE', 'UPDATE'], // a deletion is always allowed
        scope: 'Namespaced',
      },
    ],
    failurePolicy: 'Fail',
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    timeoutSeconds: 10,
    ...(registration === mutation && { reinvocationPolicy: 'IfNeeded' }),
  };
  return {
    apiVersion,
    kind: kind.kind,
    metadata: {
      name: configurationName(where, registration),
      labels: { 'app.kubernetes.io/name': 'memcached-operator' },
    },
    webhooks: [webhook],
  };
}
