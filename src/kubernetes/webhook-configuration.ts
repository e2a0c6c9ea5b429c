/** By what the API server knows whom to ask before it admits an object. */
import type { KubernetesObject } from './object.ts';

export interface WebhookConfiguration extends KubernetesObject {
  readonly webhooks?: readonly Webhook[];
}

export interface Webhook {
  readonly name: string;
  readonly clientConfig: WebhookClientConfig;
  readonly rules?: readonly {
    readonly apiGroups: readonly string[];
    readonly apiVersions: readonly string[];
    readonly resources: readonly string[];
    readonly operations: readonly string[];
    readonly scope?: string;
  }[];
  readonly failurePolicy?: 'Fail' | 'Ignore';
  readonly sideEffects: 'None';
  readonly admissionReviewVersions: readonly string[];
  readonly timeoutSeconds?: number;
  readonly reinvocationPolicy?: 'Never' | 'IfNeeded';
}

export interface WebhookClientConfig {
  readonly service?: {
    readonly name: string;
    readonly namespace: string;
    readonly path: string;
    readonly port?: number;
  };
  readonly url?: string;
  /** In base64. */
  readonly caBundle?: string;
}
