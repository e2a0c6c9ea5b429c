/** What we ask of the API server, how it answers, and how long that takes. */
import type { RequestInfo } from '../client/index.ts';
import type { Registry } from './registry.ts';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Gives what the client tells of its requests to. */
export function requestMetrics(registry: Registry): (request: RequestInfo) => void {
  const requests = registry.counter({
    name: 'rest_client_requests_total',
    help: 'Requests to the API server, each attempt by itself; where no answer came, the code is <error>',
    labels: ['verb', 'method', 'code'],
  });
  const duration = registry.histogram(
    {
      name: 'rest_client_request_duration_seconds',
      help: 'Time until the API server began to answer, that for a connection included',
      labels: ['verb'],
    },
    SECONDS,
  );
  return ({ verb, method, code, seconds }) => {
    requests({ verb, method, code: code === 0 ? '<error>' : String(code) });
    duration({ verb }, seconds);
  };
}
