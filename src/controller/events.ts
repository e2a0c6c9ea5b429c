/** Tells in events what the operator has done to a Memcached. */
import { randomBytes } from 'node:crypto';
import type { Memcached } from '../api/index.ts';
import { MANAGED_BY } from '../children/index.ts';
import type { Kind, KubernetesObject } from '../kubernetes/object.ts';
import type { Client } from '../runtime/client/index.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import type { Log } from '../runtime/log.ts';
import { microTime } from '../runtime/micro-time.ts';

export const eventKind: Kind = { apiVersion: 'events.k8s.io/v1', kind: 'Event', plural: 'events', namespaced: true };

const LONGEST_NOTE = 1024;
/** Of the name that an event has in part; the rest is a dot and 16 digits. */
const LONGEST_NAME = 253 - 17;
/** While more than these wait, the next are lost: of a storm they tell enough. */
const MOST_WAITING = 3000;
/** While no more than these wait, they let others go first. */
const MOST_PATIENT = 700;
const PATIENCE_MS = 100;

export interface Happening {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly note: string;
  /** What the operator was doing. */
  readonly action: string;
}

/** Records a happening, without waiting. An event that is lost is logged and changes nothing else. */
export type RecordEvent = (memcached: Memcached, happening: Happening) => void;

export interface EventRecorder {
  readonly recordEvent: RecordEvent;
  /** Resolves when every event until now is recorded, or lost. */
  readonly settled: () => Promise<void>;
}

export interface EventRecorderOptions {
  readonly client: Pick<Client, 'create'>;
  readonly log: Log;
  readonly instance: string;
  /** Whether there is somebody whose wish waits: then that comes first. */
  readonly othersWait: () => boolean;
  readonly now?: () => Date;
  readonly clock?: Clock;
}

/** One after another: whatever the operator does comes before what it tells of it. */
export function eventRecorder({
  client,
  log,
  instance,
  othersWait,
  now = () => new Date(),
  clock = systemClock,
}: EventRecorderOptions): EventRecorder {
  let last = Promise.resolve();
  let waiting = 0;
  const isPatient = () => othersWait() && waiting <= MOST_PATIENT;
  const ownTurn = async () => {
    while (isPatient()) await new Promise<void>((resolve) => clock.after(PATIENCE_MS, resolve));
  };
  const lost = ({ metadata: { namespace, name } }: Memcached, { reason }: Happening, error: unknown) =>
    log.info('event lost', { namespace, name, reason, error });
  return {
    recordEvent(memcached, happening) {
      if (waiting >= MOST_WAITING) return lost(memcached, happening, new Error(`${waiting} events wait already`));
      const event = eventFor(memcached, happening, instance, now());
      waiting += 1;
      last = last
        .then(ownTurn)
        .then(() => client.create(eventKind, event))
        .then(
          () => {},
          (error: unknown) => lost(memcached, happening, error),
        )
        .finally(() => {
          waiting -= 1;
        });
    },
    settled: () => last,
  };
}

function eventFor(memcached: Memcached, happening: Happening, instance: string, now: Date): KubernetesObject {
  const { name, namespace, uid } = memcached.metadata;
  const { apiVersion, kind } = memcached;
  const { note, ...rest } = happening;
  const stem = name.slice(0, LONGEST_NAME).replace(/[-.]+$/, '');
  return {
    apiVersion: eventKind.apiVersion,
    kind: eventKind.kind,
    metadata: { name: `${stem}.${randomBytes(8).toString('hex')}`, ...(namespace && { namespace }) },
    ...rest,
    note: shortened(note),
    regarding: { apiVersion, kind, name, namespace, uid },
    reportingController: MANAGED_BY,
    reportingInstance: instance,
    eventTime: microTime(now),
  } as KubernetesObject;
}

/** Counted in bytes, as the API does. */
function shortened(note: string): string {
  const bytes = Buffer.from(note);
  return bytes.length <= LONGEST_NOTE
    ? note
    : `${bytes
        .subarray(0, LONGEST_NOTE - 8)
        .toString('utf8')
        .replace(/\uFFFD+$/, '')}…`;
}
