/** What can go wrong between the operator and the API server, each by itself and all together. */
import type { Cable } from './cable.ts';
import type { Call, Intervention, Relay } from './relay.ts';
import { statusOf } from './statuses.ts';

/** A number from 0 to 1, by chance or as if. */
export type Random = () => number;

export interface Parts {
  readonly cable: Cable;
  readonly relay: Relay;
}

export interface Fault {
  /** Done to all connections, every so often. */
  readonly disturb?: (parts: Parts, random: Random) => void;
  readonly everyMs?: number;
  /** Done to a request, or not. */
  readonly intervene?: (call: Call, random: Random) => Intervention | undefined;
  /** Holds as long as the fault does. Returns how to end it. */
  readonly hold?: (parts: Parts, random: Random) => () => void;
}

const EVERY_MS = 500;

const cut: Fault = { disturb: ({ cable }) => cable.cut(), everyMs: EVERY_MS };
const reset: Fault = { disturb: ({ cable }) => cable.reset(), everyMs: EVERY_MS };
const truncated: Fault = {
  hold:
    ({ cable }) =>
    () =>
      cable.truncate(Number.POSITIVE_INFINITY),
  disturb: ({ cable }, random) => cable.truncate(Math.ceil(random() * 4000)),
  everyMs: EVERY_MS,
};
/** Connections take no more requests; every other time, what runs on them ends too. */
const goaway: Fault = {
  disturb: ({ relay }, random) => {
    relay.goAway();
    if (random() < 0.5) relay.endWatches();
  },
  everyMs: EVERY_MS,
};
const silent: Fault = {
  hold: ({ cable }) => {
    cable.freeze();
    return () => cable.thaw();
  },
};
/** A fifth of a second on average, with a few pieces ten times as late. */
const delayed: Fault = {
  hold: ({ cable }, random) => {
    cable.delayMs = () => random() * (random() < 0.03 ? 4000 : 400);
    return () => {
      cable.delayMs = () => 0;
    };
  },
};

const writes = (call: Call) => call.isWrite;
const watches = (call: Call) => call.isWatch;
const all = () => true;

/** That part of the requests gets this answer. Watches are ended now and then, so that they have to ask again. */
function answer(status: number, part: number, concerns: (call: Call) => boolean, headers = {}): Fault {
  const bad = {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(statusOf(status)),
  };
  return {
    intervene: (call, random) => (concerns(call) && random() < part ? bad : undefined),
    ...(concerns !== writes && { disturb: ({ relay }: Parts) => relay.endWatches(), everyMs: EVERY_MS }),
  };
}

/** Watches come to a bad end after a while, again and again. */
function broken(...ways: readonly ('expired' | 'half' | 'torn')[]): Fault {
  return {
    intervene: (call, random) => {
      const how = ways[Math.floor(random() * ways.length)];
      return call.isWatch && how ? { how, afterMs: random() * 1500 } : undefined;
    },
    disturb: ({ relay }) => relay.endWatches(),
    everyMs: 2000,
  };
}

const single = {
  cut,
  reset,
  truncated,
  delayed,
  silent,
  goaway,
  'answer 409': answer(409, 0.5, writes),
  'answer 410': answer(410, 0.7, watches),
  'answer 429': answer(429, 0.3, all, { 'retry-after': '1' }),
  'answer 500': answer(500, 0.7, all),
  'answer 503': answer(503, 0.9, all),
  '410 in a watch': broken('expired'),
  'half an event': broken('half', 'torn'),
} satisfies Record<string, Fault>;

/** Any of the others, one after another and several at once; now and then connections fall silent for good. */
const mixed: Fault = {
  everyMs: EVERY_MS,
  disturb: (parts, random) => {
    if (random() < 0.05) parts.cable.freezeOpen();
    else oneOf([cut, reset, truncated, goaway], random)?.disturb?.(parts, random);
  },
  intervene: (call, random) => {
    if (random() < 0.7) return undefined;
    const names = [
      'answer 409',
      'answer 410',
      'answer 429',
      'answer 500',
      'answer 503',
      '410 in a watch',
      'half an event',
    ] as const;
    const name = oneOf(names, random);
    return name && single[name].intervene?.(call, random);
  },
  hold: (parts, random) => {
    const ends = [delayed, truncated].map(({ hold }) => hold?.(parts, random));
    return () => {
      for (const end of ends) end?.();
    };
  },
};

export const faults = { ...single, mixed } satisfies Record<string, Fault>;
export type FaultName = keyof typeof faults;

function oneOf<T>(items: readonly T[], random: Random): T | undefined {
  return items[Math.floor(random() * items.length)];
}
