/** Random surroundings of Memcacheds, for property tests: with all that one could need of them. */
import fc from 'fast-check';
import type { Surroundings } from './surroundings.ts';

const hash = fc.stringMatching(/^[0-9a-f]{16}$/);

export const randomSurroundings: fc.Arbitrary<Surroundings> = fc.record(
  {
    tls: fc.record({ hash, hasCa: fc.constant(true) }),
    authentication: fc.record({ hash, form: fc.constantFrom('sasl', 'password-file') }),
    operator: fc.constant({
      namespace: 'memcached-operator-system',
      labels: { 'app.kubernetes.io/name': 'memcached-operator' },
    }),
  },
  { requiredKeys: ['tls', 'authentication'], noNullPrototype: true },
);
