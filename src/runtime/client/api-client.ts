/** The verbs of the API, as HTTP requests. */
import type { Kind, KubernetesObject, List } from '../../kubernetes/object.ts';
import type { CallOptions, Client, ListOptions, WatchOptions } from './client.ts';
import { ConnectionLost } from './errors.ts';
import type { ClientOptions } from './options.ts';
import { pathOf, type Query, withQuery } from './paths.ts';
import { type Call, Transport } from './transport.ts';
import { eventsOf } from './watch-stream.ts';

const JSON_TYPE = 'application/json';
const PATCH_TYPES = { merge: 'application/merge-patch+json', json: 'application/json-patch+json' } as const;
/** JSON is YAML, and it is all that this patch needs. */
const APPLY_TYPE = 'application/apply-patch+yaml';

export function createClient(options: ClientOptions): Client {
  const transport = new Transport(options);
  const ask = async <T>(call: Call): Promise<T> => parsed(await transport.ask(call)) as T;

  return {
    get: async (kind, name, namespace, { signal, metadataOnly } = {}) =>
      ask({
        verb: 'get',
        method: 'GET',
        path: pathOf(kind, { namespace, name }),
        kind: kind.kind,
        accept: metadataOnly ? partial('PartialObjectMetadata') : JSON_TYPE,
        signal,
      }),

    list: async <T>(kind: Kind, { signal, metadataOnly, namespace, ...query }: ListOptions = {}) =>
      completed(
        kind,
        await ask<List<T>>({
          verb: 'list',
          method: 'GET',
          path: withQuery(pathOf(kind, { namespace }), selection(query)),
          kind: kind.kind,
          accept: metadataOnly ? partial('PartialObjectMetadataList') : JSON_TYPE,
          signal,
        }),
      ),

    create: async <T extends KubernetesObject>(kind: Kind, object: T, { signal }: CallOptions = {}) =>
      ask<T>({
        verb: 'create',
        method: 'POST',
        path: pathOf(kind, { namespace: namespaceOf(kind, object) }),
        kind: kind.kind,
        contentType: JSON_TYPE,
        body: JSON.stringify(object),
        signal,
      }),

    apply: async (kind, object, { fieldManager, force, subresource, signal }) => {
      const { name } = object.metadata;
      const path = pathOf(kind, { namespace: namespaceOf(kind, object), name, subresource });
      return ask({
        verb: 'apply',
        method: 'PATCH',
        path: withQuery(path, { fieldManager, force }),
        kind: kind.kind,
        contentType: APPLY_TYPE,
        body: JSON.stringify(object),
        signal,
      });
    },

    patch: async (kind, name, namespace, { type, body, subresource, signal }) =>
      ask({
        verb: 'patch',
        method: 'PATCH',
        path: pathOf(kind, { namespace, name, subresource }),
        kind: kind.kind,
        contentType: PATCH_TYPES[type],
        body: JSON.stringify(body),
        signal,
      }),

    delete: async (kind, name, namespace, { uid, resourceVersion, propagationPolicy, signal } = {}) => {
      await transport.ask({
        verb: 'delete',
        method: 'DELETE',
        path: pathOf(kind, { namespace, name }),
        kind: kind.kind,
        contentType: JSON_TYPE,
        body: JSON.stringify({
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          preconditions: { uid, resourceVersion },
          propagationPolicy,
        }),
        signal,
      });
    },

    async *watch(kind, { signal, metadataOnly, namespace, ...query }) {
      try {
        yield* eventsOf(
          transport.stream({
            verb: 'watch',
            method: 'GET',
            path: withQuery(pathOf(kind, { namespace }), { ...selection(query), ...watching(query) }),
            kind: kind.kind,
            accept: metadataOnly ? partial('PartialObjectMetadata') : JSON_TYPE,
            signal,
          }),
        );
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    },

    raw: (path, { accept, signal } = {}) => transport.ask({ verb: 'raw', method: 'GET', path, accept, signal }),

    close: () => transport.close(),
  };
}

/** The server cuts objects down to their metadata. */
function partial(form: 'PartialObjectMetadata' | 'PartialObjectMetadataList'): string {
  return `application/json;as=${form};g=meta.k8s.io;v=v1`;
}

/** In lists the server leaves out of the items what it says in a watch: their kind; and it writes an empty one as null. */
function completed<T>({ apiVersion, kind }: Kind, list: List<T>): List<T> {
  const items = (list.items as readonly T[] | null) ?? [];
  return { ...list, items: items.map((item) => ({ apiVersion, kind, ...item })) };
}

function namespaceOf(kind: Kind, { metadata }: KubernetesObject): string | undefined {
  if (!kind.namespaced) return undefined;
  if (metadata.namespace === undefined) throw new TypeError(`the ${kind.kind} ${metadata.name} needs a namespace`);
  return metadata.namespace;
}

function selection(options: Omit<ListOptions, 'namespace' | 'metadataOnly' | 'signal'>): Query {
  const { labelSelector, fieldSelector, limit, continue: token, resourceVersion } = options;
  return { labelSelector, fieldSelector, limit, continue: token, resourceVersion };
}

function watching({ sendInitialEvents, timeoutSeconds }: Partial<WatchOptions>): Query {
  // The server refuses sendInitialEvents without saying how old what it sends may be.
  const streaming = sendInitialEvents ? { sendInitialEvents, resourceVersionMatch: 'NotOlderThan' } : {};
  return { watch: 1, allowWatchBookmarks: true, timeoutSeconds, ...streaming };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ConnectionLost('garbled', 'the answer is not JSON', error);
  }
}
