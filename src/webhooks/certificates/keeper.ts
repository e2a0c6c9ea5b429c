/** Sees to it that the webhooks always have a certificate that the API server trusts, the same in every replica. */

import type { CertifiedKey } from '../../runtime/certificates/certificate.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import type { Log } from '../../runtime/log.ts';
import { backoffMs } from '../../runtime/queue/backoff.ts';
import { Rest } from '../../runtime/rest.ts';
import {
  bundleOf,
  type Identity,
  isSound,
  type Keyring,
  keyringFrom,
  newKeyring,
  prepared,
  promoted,
  successorFrom,
  validityOf,
} from './keyring.ts';
import { nextStep, type Step } from './plan.ts';
import { CertificateStore, type CertificateStoreOptions } from './store.ts';

export interface CertificateKeeperOptions extends CertificateStoreOptions {
  readonly identity: Identity;
  readonly lifetimeMs: number;
  readonly log: Log;
  /** Told of each certificate that is to be served from now on. */
  readonly onCertificate: (pair: CertifiedKey) => void;
  readonly clock?: Clock;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  readonly random?: () => number;
}

const BACKOFF = { baseMs: 100, capMs: 5000 };
/** What was written is told by the watch; should it not be, then look again. */
const AFTER_WRITING_MS = 2000;
/** Clocks are set now and then; and certificates go by those. */
const LOOK_MS = 3_600_000;

export class CertificateKeeper {
  /** Resolves when there is a certificate, and the webhook configurations trust it. */
  readonly ready: Promise<void>;
  readonly #resolveReady: () => void;
  readonly #options: CertificateKeeperOptions;
  readonly #store: CertificateStore;
  readonly #clock: Clock;
  readonly #rest: Rest;
  #keyring: Keyring | undefined;
  #trusted: { readonly bundle: string; readonly since: number } | undefined;

  constructor(options: CertificateKeeperOptions) {
    this.#options = options;
    this.#store = new CertificateStore(options);
    this.#clock = options.clock ?? systemClock;
    this.#rest = new Rest(this.#clock);
    ({ promise: this.ready, resolve: this.#resolveReady } = Promise.withResolvers<void>());
  }

  /** Keeps it until the signal is given, whatever happens. */
  async run(signal: AbortSignal): Promise<void> {
    const watching = this.#store.run(signal, () => this.#rest.wake());
    for (let failures = 0; !signal.aborted; ) {
      this.#rest.clear();
      let ms: number;
      try {
        ms = this.#store.isComplete() ? await this.#tend(signal) : Number.POSITIVE_INFINITY;
        failures = 0;
      } catch (error) {
        if (signal.aborted) break;
        this.#options.log.error('webhook certificate cannot be kept', { error });
        ms = backoffMs(BACKOFF, failures, this.#options.random ?? Math.random);
        failures += 1;
      }
      await this.#rest.take(ms, signal);
    }
    await watching;
  }

  /** Does what has to be done now, and tells for how long nothing has to be done then. */
  async #tend(signal: AbortSignal): Promise<number> {
    const { identity, lifetimeMs, log } = this.#options;
    const now = this.#now();
    const data = this.#store.data ?? {};
    const kept = keyringFrom(data, { identity, now });
    if (kept) {
      this.#serve(kept);
      await this.#tie(signal);
      const changed = await this.#store.spread(kept, signal);
      if (changed.length > 0) log.info('webhook configurations trust the certificate', { changed });
    }
    const [remembered, successor] = [this.#remembered(now), successorFrom(data, { identity, now })];
    const [isNeeded, trustedForMs] = [this.#store.isNeeded(), this.#trustedForMs(kept)];
    const step = nextStep({ kept, remembered, successor, isNeeded, trustedForMs, lifetimeMs, now });
    if (step.act === 'wait') return Math.min(step.ms, kept && this.#trusted ? LOOK_MS : AFTER_WRITING_MS);
    const keyring = this.#keyringOf(step, now);
    const isOurs = await this.#store.keep(keyring, signal);
    if (isOurs) log.info('webhook certificate kept', { act: step.act, until: untilOf(keyring) });
    return AFTER_WRITING_MS;
  }

  /** Nothing else has to wait for that: to be trusted matters more. */
  async #tie(signal: AbortSignal): Promise<void> {
    await this.#store.tie(signal).catch((error: unknown) => {
      if (signal.aborted) throw error;
      this.#options.log.error('webhook certificate would stay without webhooks', { error });
    });
  }

  #keyringOf(step: Exclude<Step, { act: 'wait' }>, now: number): Keyring {
    const { identity, lifetimeMs } = this.#options;
    if (step.act === 'issue') return newKeyring({ identity, lifetimeMs, now });
    if (step.act === 'restore') return step.keyring;
    return step.act === 'prepare' ? prepared(step.keyring, { identity, lifetimeMs, now }) : promoted(step.keyring);
  }

  #serve(kept: Keyring): void {
    const isNew = kept.serving.certificate !== this.#keyring?.serving.certificate;
    this.#keyring = kept;
    if (isNew) this.#options.onCertificate(kept.serving);
  }

  #remembered(now: number): Keyring | undefined {
    const { identity } = this.#options;
    const known = this.#keyring;
    return known && isSound(known.serving, { ...known, identity, now }) ? known : undefined;
  }

  /** Time is counted by our own clock, from when we saw it. */
  #trustedForMs(kept: Keyring | undefined): number | undefined {
    if (!kept || !this.#store.trusts(kept)) {
      this.#trusted = undefined;
      return undefined;
    }
    this.#resolveReady();
    const bundle = bundleOf(kept);
    if (this.#trusted?.bundle !== bundle) this.#trusted = { bundle, since: this.#clock.now() };
    return this.#clock.now() - this.#trusted.since;
  }

  #now(): number {
    return (this.#options.now ?? Date.now)();
  }
}

/** Until when the last certificate in it is valid. */
function untilOf({ serving, next = serving }: Keyring): string {
  return new Date(validityOf(next).until).toISOString();
}
