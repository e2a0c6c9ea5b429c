/** The pods of a Deployment, as far as we write them. */
import type {
  LocalObjectReference,
  PodSecurityContext,
  ResourceRequirements,
  SecurityContext,
  Toleration,
  TopologySpreadConstraint,
} from './core.ts';
import type { LabelSelector } from './selector.ts';

type StringMap = Readonly<Record<string, string>>;

export interface PodTemplate {
  readonly metadata: { readonly labels: StringMap; readonly annotations?: StringMap };
  readonly spec: PodSpec;
}

export interface PodSpec {
  readonly hostname?: string | undefined;
  readonly automountServiceAccountToken: boolean;
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: PodSecurityContext;
  readonly affinity: { readonly podAntiAffinity: PodAntiAffinity };
  readonly containers: readonly Container[];
  readonly volumes?: readonly Volume[] | undefined;
  readonly topologySpreadConstraints?: readonly TopologySpreadConstraint[] | undefined;
  readonly nodeSelector?: StringMap | undefined;
  readonly tolerations?: readonly Toleration[] | undefined;
  readonly imagePullSecrets?: readonly LocalObjectReference[] | undefined;
  readonly priorityClassName?: string | undefined;
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
  readonly args?: readonly string[] | undefined;
  readonly env?: readonly EnvVar[] | undefined;
  readonly ports: readonly ContainerPort[];
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly resources?: ResourceRequirements | undefined;
  readonly securityContext: SecurityContext;
  readonly volumeMounts?: readonly VolumeMount[] | undefined;
  readonly lifecycle?: { readonly preStop: { readonly sleep: { readonly seconds: number } } } | undefined;
  readonly terminationMessagePolicy: 'FallbackToLogsOnError';
}

export interface EnvVar {
  readonly name: string;
  readonly value: string;
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

export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly: true;
}

/** Files of a Secret, or of several sources together. */
export interface Volume {
  readonly name: string;
  readonly secret?: { readonly secretName: string; readonly defaultMode: number; readonly items: readonly KeyToPath[] };
  readonly projected?: { readonly defaultMode: number; readonly sources: readonly VolumeProjection[] };
}

export interface VolumeProjection {
  readonly secret?: { readonly name: string; readonly items: readonly KeyToPath[] };
  readonly downwardAPI?: {
    readonly items: readonly {
      readonly path: string;
      readonly mode: number;
      readonly fieldRef: { readonly apiVersion: 'v1'; readonly fieldPath: string };
    }[];
  };
}

export interface KeyToPath {
  readonly key: string;
  readonly path: string;
}
