/** Which pods had the names of a Memcached's servers, at every moment. */
import { onTestFinished } from 'vitest';
import { endpointSliceKind } from '../../src/children/endpoint-slice.ts';
import type { EndpointSlice } from '../../src/kubernetes/endpoint-slice.ts';
import { type Asking, NAMESPACE, type Stage, until } from './memcacheds.ts';

/** The pods that the names lead to, by name: "cache-0" → "cache-…". */
export type Names = Readonly<Record<string, string>>;

export interface Moment {
  readonly at: number;
  readonly names: Names;
}

export function namesIn({ endpoints }: Pick<EndpointSlice, 'endpoints'>): Names {
  const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready);
  return Object.fromEntries(ready.map(({ hostname = '', targetRef }) => [hostname, targetRef?.name ?? '']));
}

export async function namesOf({ client }: Asking, name: string): Promise<Names> {
  return namesIn(await client.get<EndpointSlice>(endpointSliceKind, name, NAMESPACE));
}

/** Follows every version of the EndpointSlice until the test ends. */
export class NameTrail {
  readonly moments: Moment[] = [];
  readonly #stage: Stage;
  readonly #name: string;

  private constructor(stage: Stage, name: string) {
    this.#stage = stage;
    this.#name = name;
  }

  static async begin(stage: Stage, name: string, signal: AbortSignal): Promise<NameTrail> {
    const trail = new NameTrail(stage, name);
    const stop = new AbortController();
    const following = trail.#follow(stop.signal);
    onTestFinished(async () => {
      stop.abort();
      await following;
    });
    await until(stage, 'names are seen', async () => trail.moments.length, Boolean, signal);
    return trail;
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const options = { namespace: NAMESPACE, fieldSelector: `metadata.name=${this.#name}`, signal };
    try {
      for await (const { type, object } of this.#stage.client.watch(endpointSliceKind, options)) {
        if (type === 'BOOKMARK') continue;
        this.moments.push({ at: performance.now(), names: type === 'DELETED' ? {} : namesIn(object as EndpointSlice) });
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}
