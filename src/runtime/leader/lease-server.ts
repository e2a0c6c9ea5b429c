/** For tests: an API server that has one Lease, and a line to it that takes its time and can be cut. */
import { isDeepStrictEqual } from 'node:util';
import type { Lease } from '../../kubernetes/lease.ts';
import type { Kind, KubernetesObject } from '../../kubernetes/object.ts';
import { ApiError, type CallOptions, type Client, ConnectionLost, type PatchOptions } from '../client/index.ts';
import type { Clock } from '../clock.ts';

export class LeaseServer {
  lease: Lease | undefined;
  /** Every write that was done: what the Lease said from then on. */
  readonly history: Lease[] = [];
  #version = 0;

  get(): Lease {
    if (!this.lease) throw new ApiError(404, { reason: 'NotFound' });
    return this.lease;
  }

  create(lease: Lease): Lease {
    if (this.lease) throw new ApiError(409, { reason: 'AlreadyExists' });
    return this.#store(lease);
  }

  patch({ metadata, spec }: Lease): Lease {
    const lease = this.get();
    if (metadata.resourceVersion !== lease.metadata.resourceVersion) throw new ApiError(409, { reason: 'Conflict' });
    const patched = { ...lease, spec: { ...lease.spec, ...spec } };
    return isDeepStrictEqual(patched, lease) ? lease : this.#store(patched);
  }

  #store(lease: Lease): Lease {
    this.#version += 1;
    this.lease = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(this.#version) } };
    this.history.push(this.lease);
    return this.lease;
  }
}

export type Message = 'request' | 'answer';

/** What becomes of a message: it arrives, or the connection breaks, or nothing is ever heard. */
export type Fate = 'arrives' | 'breaks' | 'vanishes';

export interface Line {
  /** The clock of the network, and that of the process: it hears nothing while it is stopped. */
  readonly network: Clock;
  readonly process: Clock;
  /** Decides about a message, and for how long it is under way. */
  readonly send: (what: Message) => { readonly fate: Fate; readonly ms: number };
}

/** What one process has of the server. */
export function clientOf(
  server: LeaseServer,
  line: Line,
): Pick<Client, 'get' | 'create' | 'patch'> & { sent: string[] } {
  const sent: string[] = [];
  const ask = <T>(verb: string, { signal }: CallOptions = {}, act: () => Lease): Promise<T> =>
    new Promise((resolve, reject) => {
      sent.push(verb);
      signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      const lost = () => reject(new ConnectionLost('closed', 'the connection broke'));
      const there = line.send('request');
      line.network.after(there.ms, () => {
        const answer = there.fate === 'arrives' ? attempt(act) : undefined;
        const back = answer ? line.send('answer') : { ...there, ms: 0 };
        if (back.fate === 'vanishes') return;
        line.process.after(back.ms, () => {
          if (back.fate === 'breaks' || !answer) lost();
          else if (answer instanceof Error) reject(answer);
          else resolve(answer as T);
        });
      });
    });
  return {
    sent,
    get: <T>(_kind: Kind, _name: string, _namespace?: string, options?: CallOptions) =>
      ask<T>('get', options, () => server.get()),
    create: <T extends KubernetesObject>(_kind: Kind, lease: T, options?: CallOptions) =>
      ask<T>('create', options, () => server.create(lease)),
    patch: <T>(_kind: Kind, _name: string, _namespace: string | undefined, options: PatchOptions) =>
      ask<T>('patch', options, () => server.patch(options.body as Lease)),
  };
}

function attempt(act: () => Lease): Lease | Error {
  try {
    return act();
  } catch (error) {
    return error as Error;
  }
}
