/** What the servers' answers say about their security. */
import type { Fault } from '../../status/observation.ts';
import type { Answer } from './gatherer.ts';

/** One fault for all servers that let in others than they should, however many these are. */
export function breachesIn(answers: readonly Answer[]): Fault[] {
  const breaches = answers.flatMap(({ pod, breach }) => (breach === undefined ? [] : [`Pod ${pod} ${breach}`]));
  const [first, ...others] = breaches;
  if (first === undefined) return [];
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  const advice =
    'A server from before the change is replaced in a moment; otherwise use an image of memcached that is built with SASL and TLS, and see what the pod logs';
  return [{ reason: 'AuthNotEnforced', message: `${first}${more}. ${advice}` }];
}
