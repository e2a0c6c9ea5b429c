import { expect, test } from 'vitest';
import { disruptionBudgetFor } from './disruption-budget.ts';
import { example } from './example.ts';

const budget = (podDisruptionBudget: object) =>
  disruptionBudgetFor(example({ replicas: 5, highAvailability: { podDisruptionBudget } }));

test.each([
  ['neither', {}, { minAvailable: 1 }],
  ['a number that must stay', { minAvailable: 3 }, { minAvailable: 3 }],
  ['a share that must stay', { minAvailable: '50%' }, { minAvailable: '50%' }],
  ['a number that may go', { maxUnavailable: 1 }, { maxUnavailable: 1 }],
  ['none that may go', { maxUnavailable: 0 }, { maxUnavailable: 0 }],
  ['a share that may go', { maxUnavailable: '25%' }, { maxUnavailable: '25%' }],
  ['both', { minAvailable: 2, maxUnavailable: 1 }, { minAvailable: 2 }],
])('%s', (_, said, meant) => {
  expect(budget({ enabled: true, ...said })?.spec).toEqual({
    ...meant,
    selector: {
      matchLabels: {
        'app.kubernetes.io/name': 'memcached',
        'app.kubernetes.io/instance': 'my-cache',
        'app.kubernetes.io/managed-by': 'memcached-operator',
      },
    },
  });
});

test('there is none unless it is wanted', () => {
  expect(disruptionBudgetFor(example())).toBeUndefined();
  expect(budget({ minAvailable: 1 })).toBeUndefined();
  expect(budget({ enabled: false, minAvailable: 1 })).toBeUndefined();
});
