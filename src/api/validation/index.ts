/** What is wrong with a Memcached, all at once. Nothing wrong: no error. */
import { withDefaults } from '../defaults.ts';
import type { Memcached } from '../memcached.ts';
import { specSchema } from '../schema/spec.ts';
import {
  cpuUtilizationHasRequest,
  replicasHaveOneMaster,
  scalingHasRange,
  utilizationIsUnknown,
} from './autoscaling.ts';
import { connectionsAreFew, connectionsCoverThreads, keysAreLogged, threadsAreMany } from './cache.ts';
import {
  budgetCanBeMet,
  budgetIsForOneServer,
  budgetLeavesRoom,
  budgetSaysOneThing,
  noServerMayLeave,
  scalingMeetsBudget,
} from './disruption-budget.ts';
import { storageHasPages, storageHoldsItems, storageIsWritable, storagePagesFit } from './external-storage.ts';
import { extraArgsAreBrief, extraArgsAreTheUsers, wordsAreIgnored } from './extra-args.ts';
import type { Check, FieldError, Warning } from './field-error.ts';
import { delayIsSwitchedOff, shutdownEndsBeforeKill } from './graceful-shutdown.ts';
import { imageIsAnyVersion, imageIsTooOld } from './image.ts';
import { itemSizeFits } from './item-size.ts';
import { keysAreWellFormed, labelsAreTaken } from './labels.ts';
import { scrapesOverlap } from './monitoring.ts';
import { nameFitsService } from './name.ts';
import { everyoneMayConnect, networkPolicyHasOnePlace } from './network-policy.ts';
import {
  memoryIsTight,
  memoryIsUnlimited,
  memoryLimitSuffices,
  quantitiesAreReadable,
  requestsFitLimits,
} from './resources.ts';
import {
  clientCertNeedsTls,
  clientsAreNotVerified,
  passwordsAreInClear,
  saslHasSecret,
  tlsHasSecret,
} from './security.ts';
import { structureErrors } from './structure.ts';
import {
  chunksFillPages,
  hashTableCoversThreads,
  lruSharesFit,
  napiIdsFitThreads,
  slabSizesGrow,
  temporaryItemsAreMaintained,
} from './tuning.ts';

/** docs/validation.md tells all of them. */
export const checks: readonly Check[] = [
  nameFitsService,
  memoryLimitSuffices,
  quantitiesAreReadable,
  requestsFitLimits,
  itemSizeFits,
  connectionsCoverThreads,
  extraArgsAreBrief,
  extraArgsAreTheUsers,
  hashTableCoversThreads,
  napiIdsFitThreads,
  lruSharesFit,
  temporaryItemsAreMaintained,
  chunksFillPages,
  slabSizesGrow,
  storageIsWritable,
  storagePagesFit,
  storageHoldsItems,
  storageHasPages,
  budgetSaysOneThing,
  budgetLeavesRoom,
  budgetCanBeMet,
  shutdownEndsBeforeKill,
  saslHasSecret,
  tlsHasSecret,
  clientCertNeedsTls,
  networkPolicyHasOnePlace,
  replicasHaveOneMaster,
  scalingHasRange,
  cpuUtilizationHasRequest,
  keysAreWellFormed,
];

/** The same document tells these. */
export const warnings: readonly Warning[] = [
  imageIsAnyVersion,
  imageIsTooOld,
  memoryIsUnlimited,
  memoryIsTight,
  connectionsAreFew,
  threadsAreMany,
  keysAreLogged,
  wordsAreIgnored,
  noServerMayLeave,
  budgetIsForOneServer,
  scalingMeetsBudget,
  delayIsSwitchedOff,
  utilizationIsUnknown,
  scrapesOverlap,
  clientsAreNotVerified,
  passwordsAreInClear,
  everyoneMayConnect,
  labelsAreTaken,
];

export function validate(memcached: Memcached): FieldError[] {
  return errorsIn(memcached, checks);
}

/** What keeps a Memcached that was not validated from being carried out. A budget that says too little or too much does not. */
export function obstacles(memcached: Memcached): FieldError[] {
  return errorsIn(
    memcached,
    checks.filter((check) => check !== budgetSaysOneThing),
  );
}

function errorsIn(memcached: Memcached, among: readonly Check[]): FieldError[] {
  const structure = structureErrors(specSchema, memcached.spec, 'spec');
  if (structure.length > 0) return structure;
  const defaulted = withDefaults(memcached);
  const length = extraArgsAreBrief(defaulted, memcached);
  if (length.length > 0) return [...length]; // others would read all of it, again and again
  return among.flatMap((check) => check(defaulted, memcached));
}

/** What may be regretted about a Memcached with which nothing is wrong. */
export function warningsAbout(memcached: Memcached): string[] {
  const defaulted = withDefaults(memcached);
  return warnings.map((warning) => warning(defaulted, memcached)).filter((text) => text !== undefined);
}
