/** Keeps events from becoming a stream: somebody who changes something again and again, or quarrels with us, would fill the cluster with them. */
import { type Clock, systemClock } from '../runtime/clock.ts';
import type { RecordEvent } from './events.ts';

/** So many about one Memcached may come at once; */
const AT_ONCE = 25;
/** after that, one in this time. */
const EVERY_MS = 10_000;

/** Records no more than that. The rest is not missed: the status says how things stand. */
export function moderated(record: RecordEvent, clock: Pick<Clock, 'now'> = systemClock): RecordEvent {
  /** When all that was told of a Memcached counts no more; those with the latest events are at the end. */
  const calmAt = new Map<string, number>();
  return (memcached, happening) => {
    const now = clock.now();
    const { uid = '' } = memcached.metadata;
    const calm = Math.max(now, calmAt.get(uid) ?? now) + EVERY_MS;
    if (calm - now > AT_ONCE * EVERY_MS) return;
    calmAt.delete(uid);
    calmAt.set(uid, calm);
    for (const [other, time] of calmAt) {
      if (time > now) break;
      calmAt.delete(other);
    }
    record(memcached, happening);
  };
}
