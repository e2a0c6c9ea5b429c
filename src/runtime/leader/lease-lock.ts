/** The Lease as something that one can have: looking at it, taking it, giving it back. */
import type { Lease, LeaseSpec } from '../../kubernetes/lease.ts';
import { type Client, isConflict, isNotFound } from '../client/index.ts';
import type { Clock } from '../clock.ts';
import { durationMs, held, holderOf, leaseKind, released } from './lease-record.ts';

export interface LeaseLockOptions {
  readonly client: Pick<Client, 'get' | 'create' | 'patch'>;
  readonly namespace: string;
  readonly name: string;
  /** Nobody else's, not even that of the same program after a restart. */
  readonly identity: string;
  readonly clock: Clock;
  /** For the times in the Lease, which people read. Nothing is decided by them, because clocks differ. */
  readonly now: () => Date;
}

export class LeaseLock {
  readonly #options: LeaseLockOptions;
  /** As it was last read or written; nothing: there is none. */
  #lease: Lease | undefined;
  /** Since when it is known like this, by our own clock. */
  #since = 0;

  constructor(options: LeaseLockOptions) {
    this.#options = options;
  }

  /** Empty when it is nobody's. */
  get holder(): string {
    return holderOf(this.#lease);
  }

  get isOurs(): boolean {
    return this.holder === this.#options.identity;
  }

  /** When it may be taken: now, if it is nobody's; else when its holder was not heard of for as long as he wants to be waited for. */
  get freeInMs(): number {
    if (!this.#lease || this.holder === '') return 0;
    return Math.max(0, this.#since + durationMs(this.#lease) - this.#options.clock.now());
  }

  async look(signal: AbortSignal): Promise<void> {
    const { client, name, namespace } = this.#options;
    try {
      this.#know(await client.get<Lease>(leaseKind, name, namespace, { signal }));
    } catch (error) {
      if (!isNotFound(error)) throw error;
      this.#know(undefined);
    }
  }

  /** Makes it ours, or keeps it so. False when others cannot see that, mostly because one of them was faster. */
  async take(signal: AbortSignal): Promise<boolean> {
    const { identity, now } = this.#options;
    try {
      // A clock that was set back may name the same time twice: then nothing is changed, and nobody takes notice.
      return this.#know(await this.#write(held(this.#lease, identity, now()), signal));
    } catch (error) {
      const isAnother = isConflict(error) || (isNotFound(error) && this.#lease);
      if (isAnother) return false;
      throw error;
    }
  }

  /** Lets others take it at once, if it is ours. */
  async release(signal: AbortSignal): Promise<void> {
    await this.look(signal); // the answer to the last renewal may have been lost
    if (this.#lease && this.isOurs) this.#know(await this.#write(released(this.#lease, this.#options.now()), signal));
  }

  #write(spec: LeaseSpec, signal: AbortSignal): Promise<Lease> {
    const { client, name, namespace } = this.#options;
    const { apiVersion, kind } = leaseKind;
    if (!this.#lease) {
      const lease: Lease = { apiVersion, kind, metadata: { name, namespace }, spec };
      return client.create(leaseKind, lease, { signal });
    }
    // With a version in it, a patch is refused unless the object still has that version.
    const body = { metadata: { resourceVersion: this.#lease.metadata.resourceVersion }, spec };
    return client.patch(leaseKind, name, namespace, { type: 'merge', body, signal });
  }

  /** Tells whether it is another one than before. */
  #know(lease: Lease | undefined): boolean {
    if (lease && lease.metadata.resourceVersion === this.#lease?.metadata.resourceVersion) return false;
    this.#lease = lease;
    this.#since = this.#options.clock.now();
    return true;
  }
}
