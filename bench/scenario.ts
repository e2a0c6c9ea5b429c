/** What a scenario is: something that happens to an operator and its crowd, and what is measured of it. */
import type { Operator } from './operator.ts';
import type { ScenarioName } from './options.ts';
import type { Row } from './rows.ts';
import type { Site } from './site.ts';

/** An operator and the place for its crowd. */
export interface Scene {
  readonly site: Site;
  /** A scenario that starts it anew leaves it running. */
  operator: Operator;
  readonly namespace: string;
  readonly count: number;
  /** Whether it is the size that the budgets speak of. */
  readonly isReference: boolean;
  readonly signal: AbortSignal;
}

export interface Scenario {
  readonly name: ScenarioName;
  /** Of the sizes, the one that the budgets speak of, the largest, or both. */
  readonly crowds: readonly ('reference' | 'largest')[];
  readonly onlyFull?: true;
  readonly measure: (scene: Scene) => Promise<readonly Row[]>;
}
