/** When the operator has nothing left to do. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiRequest, AuditLog } from './audit.ts';
import type { Operator } from './operator.ts';
import { say } from './progress.ts';

const SETTLED_S = 5;
/** Five hundred rollouts among thousands of Memcacheds take six minutes on two cores. */
const SETTLED_WITHIN_S = 1200;
/** A process that follows a handful of idle watches takes less, even while it is profiled, or asks 10,000 servers once a minute. */
const IDLE_CPU_MS_PER_S = 200;
/**
 * Everything is collected once a minute, or more seldom. A server is asked once a minute, and kept in touch with once it is not new:
 * who was half a minute old, less a moment, when it was asked, has to wait for the next time.
 */
const ROUND_MS = 92_000;

/** Waits until the operator has neither asked for anything nor computed much for a while. Gives what it has asked for until then. */
export async function settled(operator: Operator, audit: AuditLog, signal: AbortSignal): Promise<ApiRequest[]> {
  say('until it settles');
  const requests: ApiRequest[] = [];
  const limit = AbortSignal.any([signal, operator.lost]);
  let { cpuMs } = await operator.usage();
  for (let idle = 0, waited = 0; idle < SETTLED_S; waited += 1) {
    if (waited >= SETTLED_WITHIN_S) throw new Error(`the operator was not idle for ${SETTLED_S} s in ${waited} s`);
    await sleep(1000, undefined, { signal: limit });
    const more = await audit.next();
    const now = (await operator.usage()).cpuMs;
    idle = more.length === 0 && now - cpuMs <= IDLE_CPU_MS_PER_S ? idle + 1 : 0;
    cpuMs = now;
    requests.push(...more);
  }
  return requests;
}

/**
 * Until memory is what it stays at: given back after the work, and with connections to all servers. With thousands of
 * Memcacheds it is given back more seldom, and this may be before it.
 */
export function rested(signal: AbortSignal): Promise<void> {
  return sleep(ROUND_MS, undefined, { signal });
}
