/** How Kubernetes objects select others. */

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** Who a NetworkPolicy rule is about. */
export interface NetworkPolicyPeer {
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
  readonly namespaceSelector?: LabelSelector;
  readonly podSelector?: LabelSelector;
}
