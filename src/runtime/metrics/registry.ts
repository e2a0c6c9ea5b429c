/** Everything that is counted and measured, and the page that Prometheus reads of it. */
import type { Log } from '../log.ts';
import { heading, labelText, numberText, sample } from './exposition.ts';

export interface Description<Label extends string = never> {
  readonly name: string;
  /** One sentence, without a full stop. */
  readonly help: string;
  readonly labels?: readonly Label[];
}

export type MetricType = 'counter' | 'gauge' | 'histogram';

export type LabelValues<Label extends string> = Readonly<Record<Label, string>>;

/** What is computed when somebody asks: one number, or one for each set of labels. */
export type Collect<Label extends string> = () => number | Iterable<readonly [LabelValues<Label>, number]>;

interface Family {
  readonly type: MetricType;
  readonly description: Description<string>;
  /** The lines with its numbers. */
  readonly lines: () => string;
}

/** Sets of labels that one metric may have. All of ours come from short lists; should one not, then it does not fill the memory. */
const MOST_SERIES = 200;
/** What stands in all labels of what came too late to have a series of its own. */
const OVERFLOW = 'other';

export class Registry {
  readonly #families = new Map<string, Family>();
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Gives the function that counts. */
  counter<Label extends string = never>(
    description: Description<Label>,
  ): (labels: LabelValues<Label>, by?: number) => void {
    const { name } = description;
    const series = seriesOf(description, () => ({ value: 0 }));
    this.#register('counter', description, () =>
      [...series.all()].map(([labels, { value }]) => sample(name, labels, value)).join(''),
    );
    return (labels, by = 1) => {
      series.of(labels).value += by;
    };
  }

  /** Gives the function that observes. Each bucket counts what is at most its bound; the last one, without bound, is always there. */
  histogram<Label extends string = never>(
    description: Description<Label>,
    bounds: readonly number[],
  ): (labels: LabelValues<Label>, value: number) => void {
    const { name } = description;
    const series = seriesOf(description, () => ({ counts: Array<number>(bounds.length + 1).fill(0), sum: 0 }));
    this.#register('histogram', description, () =>
      [...series.all()].map(([labels, { counts, sum }]) => histogramLines(name, labels, bounds, counts, sum)).join(''),
    );
    return (labels, value) => {
      const one = series.of(labels);
      const bucket = bounds.findIndex((bound) => value <= bound);
      const index = bucket < 0 ? bounds.length : bucket;
      one.counts[index] = (one.counts[index] ?? 0) + 1;
      one.sum += value;
    };
  }

  /** What others know already is not kept a second time, but asked for. */
  computed<Label extends string = never>(
    type: 'counter' | 'gauge',
    description: Description<Label>,
    collect: Collect<Label>,
  ): void {
    const { name, labels: names = [] } = description;
    this.#register(type, description, () => {
      const found = collect();
      if (typeof found === 'number') return sample(name, '', found);
      let lines = '';
      for (const [labels, value] of found) lines += sample(name, labelText(names, labels), value);
      return lines;
    });
  }

  /** What there is, in the order in which it was registered. */
  describe(): readonly (Required<Description<string>> & { readonly type: MetricType })[] {
    return [...this.#families.values()].map(({ type, description }) => ({ labels: [], ...description, type }));
  }

  /**
   * The page, one metric after another, each computed when it is asked for: the whole, of a megabyte for 500 Memcacheds, is never in memory.
   * A metric that cannot be computed is missing from it, and the others are not.
   */
  *pieces(): Generator<string> {
    for (const { type, description, lines } of this.#families.values()) {
      const { name, help } = description;
      let piece = '';
      try {
        piece = heading(name, type, help) + lines();
      } catch (error) {
        this.#log.error('metric cannot be computed', { metric: name, error });
      }
      yield piece;
    }
  }

  #register(type: MetricType, description: Description<string>, lines: () => string): void {
    const { name } = description;
    if (this.#families.has(name)) throw new TypeError(`there is a metric ${name} already`);
    this.#families.set(name, { type, description, lines });
  }
}

/** The values of a metric by their labels. */
function seriesOf<Label extends string, Value>(
  { labels: names = [] }: Pick<Description<Label>, 'labels'>,
  initial: () => Value,
): { of(labels: LabelValues<Label>): Value; all(): Iterable<readonly [string, Value]> } {
  const series = new Map<string, Value>();
  const overflow = labelText(names, Object.fromEntries(names.map((name) => [name, OVERFLOW])) as LabelValues<Label>);
  return {
    of(labels) {
      const wanted = labelText(names, labels);
      const key = series.has(wanted) || series.size < MOST_SERIES ? wanted : overflow;
      const found = series.get(key) ?? initial();
      series.set(key, found);
      return found;
    },
    all: () => series,
  };
}

function histogramLines(
  name: string,
  labels: string,
  bounds: readonly number[],
  counts: readonly number[],
  sum: number,
): string {
  const others = labels === '' ? '' : `${labels},`;
  let total = 0;
  let lines = '';
  for (const [index, bound] of [...bounds, Number.POSITIVE_INFINITY].entries()) {
    total += counts[index] ?? 0;
    lines += sample(`${name}_bucket`, `${others}le="${numberText(bound)}"`, total);
  }
  return lines + sample(`${name}_sum`, labels, sum) + sample(`${name}_count`, labels, total);
}
