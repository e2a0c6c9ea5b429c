/** An API server for tests: it has one kind, remembers its history, and fails as it is told to. */
import type { Kind, KubernetesObject, List } from '../../kubernetes/object.ts';
import {
  ApiError,
  type Client,
  ConnectionLost,
  type ListOptions,
  type WatchEvent,
  type WatchOptions,
} from '../client/index.ts';

export const FAULTS = ['lost', 'ended', 'gone', 'broken', 'busy', 'refused', 'forbidden', 'missing'] as const;

/** What goes wrong with a request: at once, or with a watch after so many events. */
export interface Fault {
  readonly how: (typeof FAULTS)[number];
  readonly after: number;
}

interface Watcher {
  readonly events: WatchEvent[];
  owesEnd: boolean;
  isOver: boolean;
  notice: () => void;
}

export class ScriptedServer implements Pick<Client, 'list' | 'watch'> {
  readonly objects = new Map<string, KubernetesObject>();
  /** What it was asked, in short. */
  readonly requests: string[] = [];
  /** For the next requests, one each. */
  readonly faults: Fault[] = [];
  canStream = true;
  pageSize = 2;
  isInstalled = true;
  /** Whether the end of the contents is said at once, or only by the next bookmark: changes may come before it. */
  endsContentsLate = false;
  readonly #history: { readonly version: number; readonly event: WatchEvent }[] = [];
  readonly #watchers = new Set<Watcher>();
  #snapshot: { readonly version: number; readonly items: readonly unknown[] } = { version: 0, items: [] };
  #version = 1;
  #compacted = 0;

  get watches(): number {
    return this.#watchers.size;
  }

  put(name: string): void {
    if (!this.isInstalled) return;
    const type = this.objects.has(name) ? 'MODIFIED' : 'ADDED';
    this.#version += 1;
    const metadata = { name, namespace: 'team', resourceVersion: String(this.#version) };
    const object = { apiVersion: 'v1', kind: 'Thing', metadata };
    this.objects.set(name, object);
    this.#happened({ type, object });
  }

  remove(name: string): void {
    const object = this.objects.get(name);
    if (!object) return;
    this.objects.delete(name);
    this.#version += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    this.#happened({ type: 'DELETED', object: { ...object, metadata } });
  }

  /** The kind goes with all its objects, as when its definition is deleted. */
  uninstall(): void {
    for (const name of this.objects.keys()) this.remove(name);
    this.isInstalled = false;
    this.endWatches();
  }

  /** Forgets what has happened so far. */
  compact(): void {
    this.#compacted = this.#version;
  }

  bookmark(): void {
    this.#version += 1;
    for (const watcher of this.#watchers) {
      send(watcher, this.#bookmark(watcher.owesEnd));
      watcher.owesEnd = false;
    }
  }

  endWatches(): void {
    for (const watcher of this.#watchers) {
      watcher.isOver = true;
      watcher.notice();
    }
  }

  async list<T>(_kind: Kind, options: ListOptions = {}): Promise<List<T>> {
    const start = Number(options.continue ?? 0);
    this.requests.push(start === 0 ? 'list' : 'page');
    await Promise.resolve();
    options.signal?.throwIfAborted();
    this.#answer(this.faults.shift());
    if (start === 0) this.#snapshot = { version: this.#version, items: [...this.objects.values()] };
    else if (this.#snapshot.version < this.#compacted) throw errorOf('gone');
    const { version, items } = this.#snapshot;
    const end = start + this.pageSize;
    const rest = end < items.length ? { continue: String(end) } : {};
    return { items: items.slice(start, end) as T[], metadata: { resourceVersion: String(version), ...rest } };
  }

  async *watch(_kind: Kind, options: WatchOptions): AsyncGenerator<WatchEvent, void> {
    const { sendInitialEvents = false, resourceVersion = '0', signal } = options;
    this.requests.push(sendInitialEvents ? 'stream' : 'watch');
    await Promise.resolve();
    const fault = this.faults.shift();
    this.#answer(fault);
    if (sendInitialEvents && !this.canStream) throw errorOf('refused');
    if (!sendInitialEvents && Number(resourceVersion) < this.#compacted) throw errorOf('gone');
    const events = sendInitialEvents ? this.#initialEvents() : this.#eventsSince(Number(resourceVersion));
    const owesEnd = sendInitialEvents && this.endsContentsLate;
    yield* this.#deliver({ events, owesEnd, isOver: false, notice: () => {} }, fault, signal);
  }

  #answer(fault: Fault | undefined): void {
    if (fault?.after === 0 && fault.how !== 'ended') throw errorOf(fault.how);
    if (!this.isInstalled) throw errorOf('missing');
  }

  async *#deliver(watcher: Watcher, fault: Fault | undefined, signal: AbortSignal) {
    this.#watchers.add(watcher);
    signal.addEventListener('abort', () => watcher.notice(), { once: true });
    try {
      for (let sent = 0; ; sent += 1) {
        if (fault && sent >= fault.after) return yield* breaking(fault.how);
        while (watcher.events.length === 0 && !watcher.isOver && !signal.aborted) {
          const { promise, resolve } = Promise.withResolvers<void>();
          watcher.notice = resolve;
          await promise;
        }
        const event = watcher.events.shift();
        if (!event || signal.aborted) return undefined;
        yield event;
      }
    } finally {
      this.#watchers.delete(watcher);
    }
  }

  #initialEvents(): WatchEvent[] {
    const added = [...this.objects.values()].map((object) => ({ type: 'ADDED' as const, object }));
    return this.endsContentsLate ? added : [...added, this.#bookmark(true)];
  }

  #eventsSince(since: number): WatchEvent[] {
    return this.#history.filter(({ version }) => version > since).map(({ event }) => event);
  }

  #bookmark(isEndOfContents: boolean): WatchEvent {
    const annotations = isEndOfContents ? { 'k8s.io/initial-events-end': 'true' } : {};
    return { type: 'BOOKMARK', object: { metadata: { resourceVersion: String(this.#version), annotations } } };
  }

  #happened(event: WatchEvent): void {
    this.#history.push({ version: this.#version, event });
    for (const watcher of this.#watchers) send(watcher, event);
  }
}

function send(watcher: Watcher, event: WatchEvent): void {
  if (!watcher.isOver) watcher.events.push(event);
  watcher.notice();
}

/** How a fault looks in the middle of a stream. */
function* breaking(how: Fault['how']): Generator<WatchEvent, undefined> {
  if (how === 'lost') throw errorOf(how);
  if (how === 'gone') yield { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } };
  if (how === 'broken') yield { type: 'ERROR', object: { kind: 'Status', code: 500, reason: 'InternalError' } };
  return undefined;
}

function errorOf(how: Fault['how']): Error {
  if (how === 'gone') return new ApiError(410, { reason: 'Expired' });
  if (how === 'broken') return new ApiError(500, { reason: 'InternalError' });
  if (how === 'busy') return new ApiError(429, { reason: 'TooManyRequests' }, 1);
  if (how === 'refused') return new ApiError(422, { reason: 'Invalid' });
  if (how === 'forbidden') return new ApiError(403, { reason: 'Forbidden' });
  if (how === 'missing') return new ApiError(404, { message: '404 page not found' });
  return new ConnectionLost('closed', 'lost');
}
