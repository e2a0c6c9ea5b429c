/** Keeps in memory, of all objects of a kind, the few fields that are read, and tells of every change. */
import type { Kind, KubernetesObject } from '../../kubernetes/object.ts';
import type { Client } from '../client/index.ts';
import { type Clock, systemClock } from '../clock.ts';
import type { Log } from '../log.ts';
import { backoffMs } from '../queue/backoff.ts';
import { Rest } from '../rest.ts';
import { type Delivery, deliveries, type Scope } from './deliveries.ts';
import { Listeners } from './listeners.ts';
import { type Change, type IndexFunction, Store, type StoredObject } from './store.ts';
import {
  follow,
  type Happening,
  happeningOf,
  type Outcome,
  type Place,
  START,
  type WatchState,
} from './watch-state.ts';

export interface InformerOptions<Stored extends StoredObject> extends Scope {
  readonly client: Pick<Client, 'list' | 'watch'>;
  readonly kind: Kind;
  /**
   * What is kept of an object, given what was kept of it before, and its key. It must not hold on to the object itself, or to
   * parts of it that nobody reads.
   */
  readonly project: (object: KubernetesObject, previous: Stored | undefined, key: string) => Stored;
  readonly indexes?: Readonly<Record<string, IndexFunction<Stored>>>;
  readonly log: Log;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** The first wait; each one after it is twice as long. */
const WAIT_MS = 250;
/** A watch that has held for so long makes the troubles before it forgotten. */
const HEALTHY_MS = 10_000;
/** A watch is ended by the server after this time or up to twice as long, so that many do not end at once. */
const WATCH_SECONDS = 300;

export class Informer<Stored extends StoredObject> {
  readonly kind: Kind;
  /** Resolves when the contents are complete for the first time. A kind that is not installed has none. */
  readonly synced: Promise<void>;
  readonly #resolveSynced: () => void;
  readonly #options: InformerOptions<Stored>;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #store: Store<Stored>;
  readonly #changes: Listeners<Change<Stored>>;
  readonly #presence: Listeners<boolean>;
  readonly #rest: Rest;
  readonly #endings = new Map<Outcome, number>();
  #state: WatchState = START;
  #isPresent: boolean | undefined;
  #isLeaving = false;
  #resourceVersion: string | undefined;
  #watchingSince = Number.POSITIVE_INFINITY;

  constructor(options: InformerOptions<Stored>) {
    this.kind = options.kind;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#rest = new Rest(this.#clock);
    this.#store = new Store(options.indexes);
    this.#changes = new Listeners(options.log, { kind: options.kind.kind });
    this.#presence = new Listeners(options.log, { kind: options.kind.kind });
    ({ promise: this.synced, resolve: this.#resolveSynced } = Promise.withResolvers<void>());
  }

  get state(): WatchState['at'] {
    return this.#state.at;
  }

  get size(): number {
    return this.#store.size;
  }

  /** How often a conversation with the server has ended, and how. After each, another one is begun. */
  get endings(): ReadonlyMap<Outcome, number> {
    return this.#endings;
  }

  hasSynced(): boolean {
    return this.#isPresent !== undefined;
  }

  /** Whether the server knows the kind, as far as we have heard, and will go on to. */
  isPresent(): boolean {
    return this.#isPresent === true && !this.#isLeaving;
  }

  /** By `namespace/name`, or `name` where there are no namespaces. */
  get(key: string): Stored | undefined {
    return this.#store.get(key);
  }

  /** Whether all that has happened to objects of the kind up to that version has been told. */
  hasReached(resourceVersion: string): boolean {
    const reached = this.#resourceVersion ?? '';
    // Versions are whole numbers without a limit, written in decimal.
    return reached.length === resourceVersion.length
      ? reached >= resourceVersion
      : reached.length > resourceVersion.length;
  }

  list(): Stored[] {
    return this.#store.list();
  }

  byIndex(index: string, value: string): Stored[] {
    return this.#store.byIndex(index, value);
  }

  /** The handler hears of all that is there, then of every change, in order, when the contents have it already. */
  onChange(handler: (change: Change<Stored>) => void): void {
    const here = this.list().map((stored) => ({ new: stored }));
    this.#changes.add(handler, here);
  }

  /** The handler hears whether the kind is installed, as soon as that is known, then when it comes and goes. */
  onPresence(handler: (isPresent: boolean) => void): void {
    this.#presence.add(handler, this.hasSynced() ? [this.isPresent()] : []);
  }

  /** Whoever knows whether the kind is on its way out says so. It counts as gone before the last of its objects is. */
  leave(isLeaving: boolean): void {
    const wasPresent = this.isPresent();
    this.#isLeaving = isLeaving && this.#isPresent !== false; // what has gone may come back
    if (this.isPresent() !== wasPresent) this.#comeOrGone();
  }

  /** Whoever has reason to believe that it is worth a try now, ends the waiting. */
  wake(): void {
    this.#rest.wake();
  }

  /** Follows the server until the signal is given, whatever happens. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const state = this.#state;
      const happening =
        'next' in state ? { outcome: await this.#rest.take(state.ms, signal) } : await this.#visit(state.at, signal);
      if (signal.aborted) return;
      this.#move(happening);
      if (this.#state.at === 'absent') this.#replace(new Map(), false);
    }
  }

  #move(happening: Happening): void {
    this.#state = follow(this.#state, happening, (troubles, capMs) =>
      backoffMs({ baseMs: WAIT_MS, capMs }, troubles, this.#random),
    );
    const { outcome, error } = happening;
    const fields = { kind: this.kind.kind, outcome, ...this.#state };
    const isTrouble = this.#state.at === 'waiting' && (outcome === 'failed' || outcome === 'refused');
    if (isTrouble) this.#options.log.error('watch failed', { ...fields, error });
    else this.#options.log.debug('watch goes on', fields);
  }

  /** One conversation with the server, from its first word to how it ended. */
  async #visit(place: Place, signal: AbortSignal): Promise<Happening> {
    const { client } = this.#options;
    const timeoutSeconds = Math.round(WATCH_SECONDS * (1 + this.#random()));
    const project = (key: string, object: KubernetesObject) => this.#project(key, object);
    const source = { client, kind: this.kind, scope: scopeOf(this.#options), project, timeoutSeconds, signal };
    this.#rest.clear();
    this.#watchingSince = place === 'watch' ? this.#clock.now() : Number.POSITIVE_INFINITY;
    const happening = await this.#hear(deliveries(source, place, this.#resourceVersion)).catch(happeningOf);
    if (!signal.aborted) this.#endings.set(happening.outcome, (this.#endings.get(happening.outcome) ?? 0) + 1);
    return { ...happening, healthy: this.#clock.now() - this.#watchingSince >= HEALTHY_MS };
  }

  async #hear(all: AsyncIterable<Delivery<Stored>>): Promise<Happening> {
    for await (const delivery of all) {
      this.#resourceVersion = delivery.resourceVersion;
      if (delivery.type === 'contents') {
        this.#replace(delivery.contents, true);
        this.#watchingSince = this.#clock.now();
        this.#move({ outcome: 'listed' });
      } else if (delivery.type === 'set') this.#changed(this.#store.set(delivery.key, delivery.stored));
      else if (delivery.type === 'delete') this.#changed(this.#store.delete(delivery.key));
    }
    return { outcome: 'ended' };
  }

  #changed(change: Change<Stored> | undefined): void {
    if (change) this.#changes.tell(change);
  }

  /** An object that cannot be projected keeps the form that it had: to take it for deleted would be worse. */
  #project(key: string, object: KubernetesObject): Stored | undefined {
    try {
      return this.#options.project(object, this.#store.get(key), key);
    } catch (error) {
      this.#options.log.error('object cannot be projected', { kind: this.kind.kind, key, error });
      return this.#store.get(key);
    }
  }

  #replace(contents: Map<string, Stored>, isPresent: boolean): void {
    const changes = this.#store.replace(contents);
    const wasPresent = this.hasSynced() ? this.isPresent() : undefined;
    this.#isPresent = isPresent;
    if (!isPresent) this.#isLeaving = false;
    for (const change of changes) this.#changes.tell(change);
    if (this.isPresent() !== wasPresent) this.#comeOrGone();
    this.#resolveSynced();
  }

  #comeOrGone(): void {
    const isPresent = this.isPresent();
    this.#options.log.info('kind has come or gone', { kind: this.kind.kind, isPresent });
    this.#presence.tell(isPresent);
  }
}

function scopeOf({ namespace, labelSelector, fieldSelector, metadataOnly }: Scope): Scope {
  return { namespace, labelSelector, fieldSelector, metadataOnly };
}
