/** The order in which vitest begins files: those that take minutes before all others, so that no lane is left alone with one of them in the end. */
import path from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The longest first. Where a file is missing here, its size decides, or what vitest remembers of the last run. */
export const LONG = [
  // e2e
  'deploy',
  'keystone',
  'failures',
  'packaging',
  'security-changes',
  'operator-nodes',
  'operator',
  'server-names',
  'operator-security',
  'status',
  'devcluster-healing',
  // integration
  'faults-outages',
  'faults',
  'leader-election',
  'operator-quiet',
  'statistics',
  'metrics',
  'children-property',
  'operator-kill',
  'operator-autoscaling',
  'operator-secrets',
  'webhook-certificates',
  'operator-service-monitor',
];

const RANKS = new Map(LONG.map((name, rank) => [`${name}.test.ts`, rank]));

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- it is no array
    return longestFirst(await super.sort(files));
  }
}

/** Those that are not in the list stay in their order. */
export function longestFirst<T extends Pick<TestSpecification, 'moduleId'>>(files: readonly T[]): T[] {
  const rankOf = ({ moduleId }: T) => RANKS.get(path.basename(moduleId)) ?? LONG.length;
  return files.toSorted((a, b) => rankOf(a) - rankOf(b));
}
