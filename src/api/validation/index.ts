/** What is wrong with a Memcached, all at once. Nothing wrong: no error. */
import { isDeepStrictEqual } from 'node:util';
import { withDefaults, withStoredDefaults } from '../defaults.ts';
import type { Memcached } from '../memcached.ts';
import { specSchema } from '../schema/spec.ts';
import {
  cpuUtilizationHasRequest,
  replicasHaveOneMaster,
  scalingHasRange,
  utilizationIsUnknown,
} from './autoscaling.ts';
import { connectionsAreFew, connectionsCoverThreads, itemSizeFits, keysAreLogged, threadsAreMany } from './cache.ts';
import { budgetLeavesRoom, budgetSaysOneThing, noServerMayLeave, scalingMeetsBudget } from './disruption-budget.ts';
import { extraArgsAreTheUsers, wordsAreIgnored } from './extra-args.ts';
import type { Check, FieldError, Warning } from './field-error.ts';
import { delayIsSwitchedOff, shutdownEndsBeforeKill } from './graceful-shutdown.ts';
import { keysAreWellFormed, labelsAreTaken } from './labels.ts';
import { memoryIsTight, memoryLimitSuffices } from './memory.ts';
import { scrapesOverlap } from './monitoring.ts';
import { nameFitsService } from './name.ts';
import { everyoneMayConnect, networkPolicyHasOnePlace } from './network-policy.ts';
import { clientCertNeedsTls, saslHasSecret, tlsHasSecret } from './security.ts';
import { structureErrors } from './structure.ts';

const checks: readonly Check[] = [
  nameFitsService,
  memoryLimitSuffices,
  itemSizeFits,
  connectionsCoverThreads,
  extraArgsAreTheUsers,
  budgetSaysOneThing,
  budgetLeavesRoom,
  shutdownEndsBeforeKill,
  saslHasSecret,
  tlsHasSecret,
  networkPolicyHasOnePlace,
  replicasHaveOneMaster,
  scalingHasRange,
  cpuUtilizationHasRequest,
  keysAreWellFormed,
];

const warnings: readonly Warning[] = [
  memoryIsTight,
  connectionsAreFew,
  threadsAreMany,
  keysAreLogged,
  wordsAreIgnored,
  noServerMayLeave,
  scalingMeetsBudget,
  delayIsSwitchedOff,
  utilizationIsUnknown,
  scrapesOverlap,
  clientCertNeedsTls,
  everyoneMayConnect,
  labelsAreTaken,
];

/** `old` is the object before an update. Where only metadata changed, nothing is refused: an invalid object must still be labelled and deleted. */
export function validate(memcached: Memcached, old?: Memcached): FieldError[] {
  if (old && isDeepStrictEqual(withStoredDefaults(memcached).spec, withStoredDefaults(old).spec)) return [];
  const structure = structureErrors(specSchema, memcached.spec, 'spec');
  if (structure.length > 0) return structure;
  const defaulted = withDefaults(memcached);
  return checks.flatMap((check) => check(defaulted, memcached));
}

/** What may be regretted about a Memcached with which nothing is wrong. */
export function warningsAbout(memcached: Memcached): string[] {
  const defaulted = withDefaults(memcached);
  return warnings.map((warning) => warning(defaulted, memcached)).filter((text) => text !== undefined);
}
