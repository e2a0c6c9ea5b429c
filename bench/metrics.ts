/** What the operator tells of itself, read as Prometheus reads it. */
import type { TestCluster } from '../test/support/cluster.ts';
import { letRead, newToken, scrape, totalOf } from '../test/support/metrics.ts';
import type { Operator } from './operator.ts';

const READER = 'bench';

/** The sum of all series of that name. */
export type Metrics = (name: string) => number;

/** Gives what reads them. The operator asks the API server who that is: so they are read when its requests have been counted. */
export async function metricsReader(cluster: TestCluster): Promise<(operator: Operator) => Promise<Metrics>> {
  await cluster.kubectl(['create', 'serviceaccount', READER]);
  await letRead(cluster, READER);
  return async (operator) => {
    const { status, text } = await scrape(operator.metricsPort, { token: await newToken(cluster, READER) });
    if (status !== 200) throw new Error(`the operator does not tell its metrics: ${status} ${text.slice(0, 200)}`);
    return (name) => totalOf(text, name);
  };
}
