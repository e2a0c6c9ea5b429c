/** Random surroundings of Memcacheds, for property tests: with all that one could need of them. */
import fc from 'fast-check';
import type { Surroundings } from './surroundings.ts';

const hash = fc.stringMatching(/^[0-9a-f]{16}$/);

const server = fc.record({
  pod: fc.stringMatching(/^random-[a-z0-9]{10}$/),
  address: fc.integer({ min: 1, max: 254 }).map((last) => `10.0.0.${last}`),
  node: fc.constantFrom('node-1', 'node-2'),
  isReady: fc.boolean(),
  isDeleting: fc.boolean(),
});

export const randomSurroundings: fc.Arbitrary<Surroundings> = fc.record(
  {
    tls: fc.record({ hash, hasCa: fc.constant(true) }),
    authentication: fc.record({ hash, form: fc.constantFrom('sasl', 'password-file') }),
    operator: fc.constant({
      namespace: 'memcached-operator-system',
      labels: { 'app.kubernetes.io/name': 'memcached-operator' },
    }),
    servers: fc.array(server, { maxLength: 64 }).map((servers) => servers.map((one, slot) => ({ ...one, slot }))),
  },
  { requiredKeys: ['tls', 'authentication'], noNullPrototype: true },
);
