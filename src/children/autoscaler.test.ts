import { expect, test } from 'vitest';
import { autoscalerFor } from './autoscaler.ts';
import { example } from './example.ts';

test('follows the CPU, and takes its time to shrink', () => {
  expect(autoscalerFor(example({ autoscaling: { enabled: true, maxReplicas: 5 } }))?.spec).toEqual({
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'my-cache' },
    minReplicas: 1,
    maxReplicas: 5,
    metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } }],
    behavior: { scaleDown: { stabilizationWindowSeconds: 300 } },
  });
});

test('what the user says takes the place of that', () => {
  const said = {
    minReplicas: 2,
    maxReplicas: 10,
    metrics: [
      { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } } },
    ],
    behavior: { scaleUp: { stabilizationWindowSeconds: 60 } },
  };
  expect(autoscalerFor(example({ autoscaling: { enabled: true, ...said } }))?.spec).toMatchObject(said);
  expect(autoscalerFor(example({ autoscaling: { enabled: true, ...said } }))?.spec.behavior).toEqual(said.behavior);
});

test('there is none unless it is wanted', () => {
  expect(autoscalerFor(example({ autoscaling: { enabled: false, maxReplicas: 5 } }))).toBeUndefined();
});
