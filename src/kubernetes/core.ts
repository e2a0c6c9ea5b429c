/** Parts of pods that the Memcached API passes on as they are. */
import type { LabelSelector } from './selector.ts';

/** "500m", "1Gi" or a plain number. */
export type Quantity = string | number;
export type ResourceList = Readonly<Record<string, Quantity>>;

export interface ResourceRequirements {
  readonly limits?: ResourceList;
  readonly requests?: ResourceList;
  readonly claims?: readonly { readonly name: string; readonly request?: string }[];
}

export interface LocalObjectReference {
  readonly name?: string;
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: 'Equal' | 'Exists' | 'Gt' | 'Lt';
  readonly value?: string;
  readonly effect?: 'NoExecute' | 'NoSchedule' | 'PreferNoSchedule';
  readonly tolerationSeconds?: number;
}

export interface TopologySpreadConstraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly whenUnsatisfiable: 'DoNotSchedule' | 'ScheduleAnyway';
  readonly labelSelector?: LabelSelector;
  readonly matchLabelKeys?: readonly string[];
  readonly minDomains?: number;
  readonly nodeAffinityPolicy?: 'Honor' | 'Ignore';
  readonly nodeTaintsPolicy?: 'Honor' | 'Ignore';
}

interface SeLinuxOptions {
  readonly level?: string;
  readonly role?: string;
  readonly type?: string;
  readonly user?: string;
}

/** A seccomp or AppArmor profile. */
interface SecurityProfile {
  readonly type: 'Localhost' | 'RuntimeDefault' | 'Unconfined';
  readonly localhostProfile?: string;
}

interface WindowsSecurityContextOptions {
  readonly gmsaCredentialSpec?: string;
  readonly gmsaCredentialSpecName?: string;
  readonly hostProcess?: boolean;
  readonly runAsUserName?: string;
}

/** What a pod and a container can both say. */
interface SharedSecurityContext {
  readonly appArmorProfile?: SecurityProfile;
  readonly runAsGroup?: number;
  readonly runAsNonRoot?: boolean;
  readonly runAsUser?: number;
  readonly seLinuxOptions?: SeLinuxOptions;
  readonly seccompProfile?: SecurityProfile;
  readonly windowsOptions?: WindowsSecurityContextOptions;
}

export interface PodSecurityContext extends SharedSecurityContext {
  readonly fsGroup?: number;
  readonly fsGroupChangePolicy?: 'Always' | 'OnRootMismatch';
  readonly seLinuxChangePolicy?: string;
  readonly supplementalGroups?: readonly number[];
  readonly supplementalGroupsPolicy?: 'Merge' | 'Strict';
  readonly sysctls?: readonly { readonly name: string; readonly value: string }[];
}

export interface SecurityContext extends SharedSecurityContext {
  readonly allowPrivilegeEscalation?: boolean;
  readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] };
  readonly privileged?: boolean;
  readonly procMount?: 'Default' | 'Unmasked';
  readonly readOnlyRootFilesystem?: boolean;
}
