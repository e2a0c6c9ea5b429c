/** A Pod, as far as its state concerns us. */
import type { ResourceRequirements } from './core.ts';
import type { KubernetesObject } from './object.ts';

export interface Pod extends KubernetesObject {
  readonly kind: 'Pod';
  readonly spec: { readonly nodeName?: string; readonly containers?: readonly PodContainer[] };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly podIP?: string;
    readonly conditions?: readonly PodCondition[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

export interface PodContainer {
  readonly name: string;
  readonly args?: readonly string[];
  readonly resources?: ResourceRequirements;
}

export interface PodCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

export interface ContainerStatus {
  readonly name: string;
  readonly image?: string;
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}

export interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly running?: { readonly startedAt?: string };
  readonly terminated?: { readonly exitCode: number; readonly reason?: string; readonly message?: string };
}
