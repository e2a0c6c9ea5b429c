/** Which Kubernetes a cluster is: the newest that we know, or, to see that it works there, too, the oldest that the operator supports. */
import { Problem } from './problem.ts';

export interface Release {
  readonly version: string;
  /** The directory under modules/ that pins it. */
  readonly module: string;
}

/** By what KUBERNETES names them. */
export const releases = {
  newest: { version: 'v1.36.3', module: 'kubernetes' },
  oldest: { version: 'v1.31.0', module: 'kubernetes-oldest' },
} as const satisfies Record<string, Release>;

/** The one that is asked for. */
export function chosenRelease(env: NodeJS.ProcessEnv = process.env): Release {
  const name = env['KUBERNETES'] || 'newest';
  const release = Object.entries(releases).find(([known]) => known === name)?.[1];
  if (release) return release;
  const known = Object.entries(releases).map(([one, { version }]) => `${one} (${version})`);
  throw new Problem(`KUBERNETES=${name} is none that is known here.`, `Use one of: ${known.join(', ')}.`);
}
