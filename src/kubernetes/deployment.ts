/** A Deployment, as far as we write or read it. */
import type { KubernetesObject } from './object.ts';
import type { PodTemplate } from './pod-template.ts';
import type { LabelSelector } from './selector.ts';

export interface Deployment extends KubernetesObject {
  readonly apiVersion: 'apps/v1';
  readonly kind: 'Deployment';
  readonly spec: {
    readonly replicas?: number | undefined;
    readonly strategy: {
      readonly type: 'RollingUpdate';
      readonly rollingUpdate: { readonly maxSurge: number; readonly maxUnavailable: number };
    };
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
  };
  readonly status?: DeploymentStatus;
}

export interface DeploymentStatus {
  readonly observedGeneration?: number;
  readonly replicas?: number;
  readonly updatedReplicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason?: string;
    readonly message?: string;
  }[];
}
