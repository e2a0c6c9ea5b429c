/** What the children of a Memcached depend on besides its own spec. */

/**
 * Only the Deployment depends on the Secrets: while one of them is missing or no good, it stays as it is,
 * and the other children are made all the same.
 */
export interface Surroundings {
  /** The Secrets that it names, read and found good; absent where it names none. */
  readonly tls?: { readonly hash: string; readonly hasCa: boolean };
  readonly authentication?: { readonly hash: string; readonly form: 'sasl' | 'password-file' };
  /** Where the operator's own pods are, so that policies let them in; absent when it runs outside the cluster. */
  readonly operator?: { readonly namespace: string; readonly labels: Readonly<Record<string, string>> };
  /** The pods that have the names of servers; absent where none has. Of no concern to children that do not follow the pods. */
  readonly servers?: readonly Server[];
}

/** A pod that has the name of a server. */
export interface Server {
  readonly slot: number;
  readonly pod: string;
  readonly address: string;
  readonly node?: string;
  /** It passes its probe. */
  readonly isReady: boolean;
  readonly isDeleting: boolean;
}
