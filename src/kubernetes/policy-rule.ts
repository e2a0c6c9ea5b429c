/** A rule of a Role or ClusterRole. */

export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** Only the objects of these names. */
  readonly resourceNames?: readonly string[];
}
