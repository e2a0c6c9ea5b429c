/** What is to be done for one Memcached, and what is wrong with it before anything is done. */
import { type DefaultedMemcached, type DefaultOptions, type Memcached, obstacles, withDefaults } from '../api/index.ts';
import { deploymentKind, type Surroundings } from '../children/index.ts';
import type { Fault, Remark } from '../status/observation.ts';
import { difference, type Step } from './difference.ts';
import { type Inquiry, inquire } from './secrets/inquiry.ts';
import type { World } from './world.ts';

export interface Planner {
  readonly world: World;
  readonly defaults: DefaultOptions;
  readonly operator?: Surroundings['operator'];
  readonly now: () => Date;
}

export interface Plan {
  readonly wanted?: DefaultedMemcached;
  readonly steps: readonly Step[];
  /** Whether the steps lead to all that is wanted. */
  readonly isWhole: boolean;
  readonly faults: readonly Fault[];
  readonly remarks: readonly Remark[];
  readonly error?: Error;
  readonly changesAt?: number;
}

/** Servers whose Secrets are missing or no good stay as they are; everything else goes on. */
export async function planFor(key: string, memcached: Memcached, by: Planner, signal: AbortSignal): Promise<Plan> {
  const invalid = invalidities(memcached);
  if (invalid.length > 0) return { steps: [], isWhole: false, faults: invalid, remarks: [] };
  const wanted = withDefaults(memcached, by.defaults);
  const { found, ...inquiry } = await inquire(memcached, by.world.secrets, by.now(), signal);
  const isWhole = inquiry.faults.length === 0;
  const surroundings = { ...found, ...(by.operator && { operator: by.operator }) };
  const steps = difference(wanted, surroundings, by.world.seen(key), isWhole ? [] : [deploymentKind]);
  return { wanted, steps, isWhole, remarks: remarksOn(wanted, found), ...inquiry };
}

function remarksOn({ spec }: DefaultedMemcached, { authentication }: Inquiry['found']): Remark[] {
  if (!spec.monitoring.enabled || authentication?.form !== 'password-file') return [];
  const message =
    'Metrics are unavailable: with password-file, memcached lets nobody in without a password, and the exporter cannot give one. Use memcached-sasl-db if you need metrics';
  return [{ reason: 'MetricsUnavailable', message }];
}

function invalidities(memcached: Memcached): Fault[] {
  return obstacles(memcached).map(({ field, message }) => ({
    reason: 'InvalidSpec',
    message: `${field}: ${message}`,
  }));
}
