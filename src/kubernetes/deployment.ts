/** A Deployment, as far as we write or read it. */
import type {
  LocalObjectReference,
  PodSecurityContext,
  ResourceRequirements,
  SecurityContext,
  Toleration,
  TopologySpreadConstraint,
} from './core.ts';
import type { KubernetesObject } from './object.ts';
import type { LabelSelector } from './selector.ts';

type StringMap = Readonly<Record<string, string>>;

export interface Deployment extends KubernetesObject {
  readonly apiVersion: 'apps/v1';
  readonly kind: 'Deployment';
  readonly spec: {
    readonly replicas?: number;
    readonly strategy: {
      readonly type: 'RollingUpdate';
      readonly rollingUpdate: { readonly maxSurge: number; readonly maxUnavailable: number };
    };
    readonly selector: LabelSelector;
    readonly template: {
      readonly metadata: { readonly labels: StringMap; readonly annotations?: StringMap };
      readonly spec: PodTemplateSpec;
    };
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

export interface PodTemplateSpec {
  readonly automountServiceAccountToken: boolean;
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: PodSecurityContext;
  readonly affinity: { readonly podAntiAffinity: PodAntiAffinity };
  readonly containers: readonly Container[];
  readonly topologySpreadConstraints?: readonly TopologySpreadConstraint[];
  readonly nodeSelector?: StringMap;
  readonly tolerations?: readonly Toleration[];
  readonly imagePullSecrets?: readonly LocalObjectReference[];
  readonly priorityClassName?: string;
}

interface PodAffinityTerm {
  readonly labelSelector: LabelSelector;
  readonly topologyKey: string;
}

export interface PodAntiAffinity {
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly {
    readonly weight: number;
    readonly podAffinityTerm: PodAffinityTerm;
  }[];
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly PodAffinityTerm[];
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly ports: readonly ContainerPort[];
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly resources?: ResourceRequirements;
  readonly securityContext: SecurityContext;
  readonly lifecycle?: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
  readonly terminationMessagePolicy: 'FallbackToLogsOnError';
}

export interface ContainerPort {
  readonly name: string;
  readonly containerPort: number;
  readonly protocol: 'TCP';
}

export interface Probe {
  readonly tcpSocket: { readonly port: string };
  readonly initialDelaySeconds: number;
  readonly periodSeconds: number;
}
