/** What a controller can ask of the Kubernetes API. */
import type { Kind, KubernetesObject, List } from '../../kubernetes/object.ts';

export interface CallOptions {
  /** Ends the call; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface GetOptions extends CallOptions {
  /** The server leaves out everything but apiVersion, kind and metadata. */
  readonly metadataOnly?: boolean | undefined;
}

export interface ListOptions extends GetOptions {
  /** Without it, all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

export interface WatchOptions {
  /** Without it, all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly metadataOnly?: boolean | undefined;
  readonly resourceVersion?: string | undefined;
  /** A streaming list: what exists comes first, as ADDED, closed by a BOOKMARK that is annotated `k8s.io/initial-events-end`. */
  readonly sendInitialEvents?: boolean | undefined;
  readonly timeoutSeconds?: number | undefined;
  /** Closes the stream at once; the generator then ends without an error. */
  readonly signal: AbortSignal;
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  /** With ERROR a Status, which `apiErrorFrom` turns into an ApiError. */
  readonly object: unknown;
}

export interface ApplyOptions extends CallOptions {
  readonly fieldManager: string;
  readonly force?: boolean | undefined;
  readonly subresource?: string | undefined;
}

export interface PatchOptions extends CallOptions {
  readonly type: 'merge' | 'json';
  readonly body: unknown;
  readonly subresource?: string | undefined;
}

export interface DeleteOptions extends CallOptions {
  /** Only this very object; 409 if it is another one by now. */
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan' | undefined;
}

export interface RawOptions extends CallOptions {
  readonly accept?: string | undefined;
}

/**
 * Every call rejects with an ApiError when the server said no, and with a ConnectionLost when it said nothing.
 * An object's namespace and name are taken from its metadata.
 */
export interface Client {
  get<T extends KubernetesObject>(kind: Kind, name: string, namespace?: string, options?: GetOptions): Promise<T>;
  list<T>(kind: Kind, options?: ListOptions): Promise<List<T>>;
  create<T extends KubernetesObject>(kind: Kind, object: T, options?: CallOptions): Promise<T>;
  /** Server-side apply. */
  apply<T extends KubernetesObject>(kind: Kind, object: KubernetesObject, options: ApplyOptions): Promise<T>;
  patch<T extends KubernetesObject>(
    kind: Kind,
    name: string,
    namespace: string | undefined,
    options: PatchOptions,
  ): Promise<T>;
  delete(kind: Kind, name: string, namespace: string | undefined, options?: DeleteOptions): Promise<void>;
  /** One watch: ends when the server ends it, throws when it breaks off or is refused. */
  watch(kind: Kind, options: WatchOptions): AsyncGenerator<WatchEvent, void>;
  /** The text behind any path, such as /version. */
  raw(path: string, options?: RawOptions): Promise<string>;
  /** Breaks off what is still open, and closes all connections. */
  close(): Promise<void>;
}
