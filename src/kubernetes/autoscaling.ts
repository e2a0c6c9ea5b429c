/** A HorizontalPodAutoscaler, as far as we write it: what it measures, and how it moves. */
import type { Quantity } from './core.ts';
import type { KubernetesObject } from './object.ts';
import type { LabelSelector } from './selector.ts';

export interface MetricTarget {
  readonly type: string;
  readonly averageUtilization?: number;
  readonly averageValue?: Quantity;
  readonly value?: Quantity;
}

interface MetricIdentifier {
  readonly name: string;
  readonly selector?: LabelSelector;
}

/** One metric; `type` names the member that says which. */
export interface MetricSpec {
  readonly type: string;
  readonly resource?: { readonly name: string; readonly target: MetricTarget };
  readonly containerResource?: { readonly container: string; readonly name: string; readonly target: MetricTarget };
  readonly pods?: { readonly metric: MetricIdentifier; readonly target: MetricTarget };
  readonly external?: { readonly metric: MetricIdentifier; readonly target: MetricTarget };
  readonly object?: {
    readonly describedObject: { readonly apiVersion?: string; readonly kind: string; readonly name: string };
    readonly metric: MetricIdentifier;
    readonly target: MetricTarget;
  };
}

interface HPAScalingRules {
  readonly policies?: readonly { readonly type: string; readonly value: number; readonly periodSeconds: number }[];
  readonly selectPolicy?: string;
  readonly stabilizationWindowSeconds?: number;
  readonly tolerance?: Quantity;
}

export interface HorizontalPodAutoscalerBehavior {
  readonly scaleDown?: HPAScalingRules;
  readonly scaleUp?: HPAScalingRules;
}

export interface HorizontalPodAutoscaler extends KubernetesObject {
  readonly apiVersion: 'autoscaling/v2';
  readonly kind: 'HorizontalPodAutoscaler';
  readonly spec: {
    readonly scaleTargetRef: { readonly apiVersion: string; readonly kind: string; readonly name: string };
    readonly minReplicas: number | undefined;
    readonly maxReplicas: number | undefined;
    readonly metrics: readonly MetricSpec[] | undefined;
    readonly behavior: HorizontalPodAutoscalerBehavior | undefined;
  };
}
