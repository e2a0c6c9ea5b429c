/** What a scenario is: something that happens to an operator and its crowd, and what is measured of it. */
import type { Operator } from './operator.ts';
import type { ScenarioName } from './options.ts';
import type { Row } from './rows.ts';
import type { Site } from './site.ts';

/** A settled crowd, and the operator that has made it so. */
export interface Scene {
  readonly site: Site;
  /** A scenario that starts it anew leaves it running. */
  operator: Operator;
  readonly namespace: string;
  readonly count: number;
  readonly signal: AbortSignal;
}

export interface Scenario {
  readonly name: ScenarioName;
  /** In which crowd: the one that budgets speak of, or the largest. */
  readonly crowd: 'reference' | 'largest';
  readonly onlyFull?: true;
  readonly measure: (scene: Scene) => Promise<readonly Row[]>;
}
