/** A container that was killed for lack of memory, and how much it should have. */
import { mebibytes, safeMebibytes } from '../api/index.ts';
import type { PodContainer } from '../kubernetes/pod.ts';

/** Where the resources of our containers are set. Others have come from elsewhere. */
const FIELDS: Readonly<Record<string, string>> = {
  memcached: 'spec.resources',
  exporter: 'spec.monitoring.exporterResources',
};

export function memoryProblem({ name, args = [], resources }: PodContainer): string {
  const limit = resources?.limits?.['memory'];
  const field = FIELDS[name];
  const needed = name === 'memcached' ? neededBy(args) : undefined;
  const end =
    limit === undefined
      ? `${name} was killed because its node had no memory left`
      : `${name} was killed for using more memory than its limit of ${limit}`;
  if (field === undefined) return `${end}: give it more`;
  if (limit === undefined)
    return `${end}: set ${field}.requests.memory${needed === undefined ? '' : ` to ${needed}Mi`}, so that it gets a node with room`;
  const enough = Math.max(needed ?? 0, Math.ceil(1.25 * (mebibytes(limit) ?? 0)));
  const otherwise = needed === undefined ? '' : ', or lower spec.memcached.maxMemoryMB';
  return `${end}: set ${field}.limits.memory to ${enough}Mi or more${otherwise}`;
}

/** By the command line that it was started with: the spec may have changed since. */
function neededBy(args: readonly string[]): number | undefined {
  const [maxMemoryMB, maxConnections] = ['-m', '-c'].map((flag) => Number(args[args.indexOf(flag) + 1]));
  if (!Number.isInteger(maxMemoryMB) || !Number.isInteger(maxConnections)) return undefined;
  return safeMebibytes({
    maxMemoryMB: maxMemoryMB ?? 0,
    maxConnections: maxConnections ?? 0,
    isEncrypted: args.includes('-Z'),
  });
}
