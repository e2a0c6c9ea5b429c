/** What the server tells of a kind, in the order in which it tells it: the complete contents if they are asked for, then each change. */
import type { Kind, KubernetesObject } from '../../kubernetes/object.ts';
import { apiErrorFrom, type Client, type WatchOptions } from '../client/index.ts';
import { keyOf } from '../key.ts';
import { type Place, WatchBroken } from './watch-state.ts';

/** Which objects of the kind, and how much of them. */
export type Scope = Pick<WatchOptions, 'namespace' | 'labelSelector' | 'fieldSelector' | 'metadataOnly'>;

export interface Source<Stored> {
  readonly client: Pick<Client, 'list' | 'watch'>;
  readonly kind: Kind;
  readonly scope: Scope;
  /** What is kept of an object, or nothing. Nobody holds on to the object itself. */
  readonly project: (key: string, object: KubernetesObject) => Stored | undefined;
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal;
}

/** The resourceVersion is where the server can be asked to go on. */
interface Delivered {
  readonly resourceVersion: string | undefined;
}

interface Contents<Stored> extends Delivered {
  readonly type: 'contents';
  readonly contents: Map<string, Stored>;
}

type Event<Stored> = Delivered &
  (
    | { readonly type: 'set'; readonly key: string; readonly stored: Stored }
    | { readonly type: 'delete'; readonly key: string }
    | { readonly type: 'bookmark'; readonly isEndOfContents: boolean }
  );

export type Delivery<Stored> = Contents<Stored> | Event<Stored>;

const END_OF_CONTENTS = 'k8s.io/initial-events-end';
const PAGE_SIZE = 500;

/** Ends when the server ends the watch; throws what the client throws, and WatchBroken. */
export function deliveries<Stored>(
  source: Source<Stored>,
  from: Place,
  resourceVersion: string | undefined,
): AsyncGenerator<Delivery<Stored>, void> {
  if (from === 'stream') return streamThenWatch(source);
  return from === 'pages' ? pagesThenWatch(source) : watch(source, { resourceVersion });
}

/** The contents come through the watch, one by one, until a bookmark says that they are complete. */
async function* streamThenWatch<Stored>(source: Source<Stored>): AsyncGenerator<Delivery<Stored>, void> {
  let contents: Map<string, Stored> | undefined = new Map();
  for await (const event of watch(source, { sendInitialEvents: true })) {
    if (!contents) yield event;
    else if (event.type === 'set') contents.set(event.key, event.stored);
    else if (event.type === 'delete') contents.delete(event.key);
    else if (event.isEndOfContents) {
      yield { type: 'contents', contents, resourceVersion: event.resourceVersion };
      contents = undefined;
    }
  }
}

async function* pagesThenWatch<Stored>(source: Source<Stored>): AsyncGenerator<Delivery<Stored>, void> {
  const { client, kind, scope, project, signal } = source;
  const contents = new Map<string, Stored>();
  const { apiVersion, kind: name } = kind; // a list says it once for all
  let page: { readonly continue?: string; readonly resourceVersion?: string } = {};
  do {
    const list = await client.list<KubernetesObject>(kind, {
      ...scope,
      limit: PAGE_SIZE,
      continue: page.continue,
      signal,
    });
    for (const item of list.items) {
      const key = keyOf(item);
      const stored = project(key, { ...item, apiVersion, kind: name });
      if (stored) contents.set(key, stored);
    }
    page = list.metadata;
  } while (page.continue);
  const { resourceVersion } = page;
  yield { type: 'contents', contents, resourceVersion };
  yield* watch(source, { resourceVersion });
}

async function* watch<Stored>(
  { client, kind, scope, project, timeoutSeconds, signal }: Source<Stored>,
  from: Pick<WatchOptions, 'resourceVersion' | 'sendInitialEvents'>,
): AsyncGenerator<Event<Stored>, void> {
  for await (const { type, object } of client.watch(kind, { ...scope, ...from, timeoutSeconds, signal })) {
    if (type === 'ERROR') throw new WatchBroken(apiErrorFrom(object));
    const { metadata } = object as KubernetesObject;
    const { resourceVersion, annotations } = metadata;
    if (type === 'BOOKMARK') {
      yield { type: 'bookmark', isEndOfContents: annotations?.[END_OF_CONTENTS] === 'true', resourceVersion };
      continue;
    }
    const key = keyOf({ metadata });
    const stored = type === 'DELETED' ? undefined : project(key, object as KubernetesObject);
    if (type === 'DELETED') yield { type: 'delete', key, resourceVersion };
    else if (stored) yield { type: 'set', key, stored, resourceVersion };
  }
}
