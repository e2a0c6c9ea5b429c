/** What was asked of the API server, and by whom, as its audit log tells. */
import { open } from 'node:fs/promises';
import { requestIn } from '../test/support/audit.ts';

export interface ApiRequest {
  readonly verb: string;
  /** With its subresource, such as `memcacheds/status`. */
  readonly resource: string;
  readonly name: string;
  readonly code: number;
  /** When the server heard of it, and when it had answered, in milliseconds. */
  readonly receivedMs: number;
  readonly answeredMs: number;
}

/** Reads on in the log, from where it was last. */
export class AuditLog {
  readonly #file: string;
  readonly #agent: string;
  #position = 0;
  #rest = '';

  /** Only requests of a user agent that begins so. */
  constructor(file: string, agent: string) {
    this.#file = file;
    this.#agent = agent;
  }

  /** The requests that came since the last time. */
  async next(): Promise<ApiRequest[]> {
    const requests: ApiRequest[] = [];
    const log = await open(this.#file);
    try {
      const stream = log.createReadStream({ start: this.#position, encoding: 'utf8', autoClose: false });
      for await (const chunk of stream as AsyncIterable<string>) {
        this.#position += Buffer.byteLength(chunk);
        const lines = (this.#rest + chunk).split('\n');
        this.#rest = lines.pop() ?? '';
        for (const line of lines) requests.push(...readIn(line, this.#agent));
      }
    } finally {
      await log.close();
    }
    return requests;
  }
}

/** The few fields that are needed of tens of thousands. */
function readIn(line: string, agent: string): ApiRequest[] {
  const entry = requestIn(line, agent);
  if (!entry) return [];
  const { verb, requestURI, objectRef, responseStatus, requestReceivedTimestamp, stageTimestamp } = entry;
  const { resource = requestURI, subresource, name = '' } = objectRef ?? {};
  return [
    {
      verb,
      resource: subresource === undefined ? resource : `${resource}/${subresource}`,
      name,
      code: responseStatus?.code ?? 0,
      receivedMs: milliseconds(requestReceivedTimestamp),
      answeredMs: milliseconds(stageTimestamp),
    },
  ];
}

/** Dates end at milliseconds, and the server tells microseconds. */
function milliseconds(time: string): number {
  return Date.parse(`${time.slice(0, 19)}Z`) + Number(time.slice(19, -1)) * 1000;
}

/** How many of each sort, most frequent first. */
export function bySort(requests: readonly ApiRequest[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { verb, resource, code } of requests) {
    const sort = `${verb} ${resource}${code >= 400 ? ` (${code})` : ''}`;
    counts[sort] = (counts[sort] ?? 0) + 1;
  }
  return Object.fromEntries(Object.entries(counts).toSorted(([, a], [, b]) => b - a));
}
