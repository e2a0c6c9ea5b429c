/** What is to be done for one Memcached, and what is wrong with it before anything is done. */
import type { DefaultedMemcached, Memcached } from '../api/index.ts';
import { children, deploymentKind, type Surroundings } from '../children/index.ts';
import type { Kind } from '../kubernetes/object.ts';
import type { Fault, Remark } from '../status/observation.ts';
import { difference, type Step } from './difference.ts';
import { type Inquiry, inquire } from './secrets/inquiry.ts';
import { serversOf } from './slots/servers.ts';
import { builderFor, type Wishes } from './wishes.ts';
import type { World } from './world.ts';

export interface Planner {
  readonly world: World;
  readonly wishes: Wishes;
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

/** Whether a kind of child goes its way while the spec is not carried out. */
export function followsPods(kind: Kind): boolean {
  return children.some((child) => child.kind === kind && child.followsPods);
}

/** Servers whose Secrets are missing or no good stay as they are; everything else goes on. */
export async function planFor(key: string, memcached: Memcached, by: Planner, signal: AbortSignal): Promise<Plan> {
  const invalid = by.wishes.faults(memcached);
  const wanted = by.wishes.wanted(memcached);
  if (invalid.length > 0) return { ...planOfPods(key, wanted, by), faults: invalid };
  const { found, ...inquiry } = await inquire(memcached, by.world.secrets, by.now(), signal);
  const isWhole = inquiry.faults.length === 0;
  const servers = serversOf(key, wanted.spec.replicas ?? present(key, wanted, by.world), by.world);
  const surroundings = { ...found, servers, ...(by.operator && { operator: by.operator }) };
  const kept = isWhole ? [] : [deploymentKind];
  const build = builderFor(wanted, surroundings);
  const fingerprints = by.wishes.fingerprints(memcached, surroundings, { staying: kept, build });
  const steps = difference(wanted, surroundings, by.world.seen(key), { fingerprints, kept, build });
  return { wanted, steps, isWhole, remarks: remarksOn(wanted, found), ...inquiry };
}

/** For a spec that cannot be carried out: the servers that are there keep their names all the same. */
function planOfPods(key: string, memcached: DefaultedMemcached, { world }: Planner): Omit<Plan, 'faults'> {
  const servers = serversOf(key, present(key, memcached, world), world);
  const kept = children.map(({ kind }) => kind).filter((kind) => !followsPods(kind));
  const steps = difference(memcached, { servers }, world.seen(key), { kept });
  return { steps, isWhole: false, remarks: [] };
}

/** How many servers the Deployment has been told to have. */
function present(key: string, { metadata: { uid } }: DefaultedMemcached, world: World): number {
  const observed = world.child(deploymentKind, key);
  return (observed?.ownerUid === uid ? observed?.deployment?.wanted : undefined) ?? 0;
}

function remarksOn({ spec }: DefaultedMemcached, { authentication }: Inquiry['found']): Remark[] {
  if (!spec.monitoring.enabled || authentication?.form !== 'password-file') return [];
  const message =
    'Metrics are unavailable: with password-file, memcached lets nobody in without a password, and the exporter cannot give one. Use memcached-sasl-db if you need metrics';
  return [{ reason: 'MetricsUnavailable', message }];
}
