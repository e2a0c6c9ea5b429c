import { expect, test } from 'vitest';
import { example } from './example.ts';
import { serviceMonitorFor } from './service-monitor.ts';

const selector = {
  'app.kubernetes.io/name': 'memcached',
  'app.kubernetes.io/instance': 'my-cache',
  'app.kubernetes.io/managed-by': 'memcached-operator',
};

test('lets the port for metrics of the Service be scraped', () => {
  expect(serviceMonitorFor(example({ monitoring: { enabled: true } }))?.spec).toEqual({
    selector: { matchLabels: selector },
    endpoints: [{ port: 'metrics', interval: '30s', scrapeTimeout: '10s' }],
  });
});

test('has the times and the labels that Prometheus wants', () => {
  const serviceMonitor = { interval: '15s', scrapeTimeout: '5s', additionalLabels: { release: 'prometheus' } };
  const built = serviceMonitorFor(example({ monitoring: { enabled: true, serviceMonitor } }));
  expect(built?.spec.endpoints).toEqual([{ port: 'metrics', interval: '15s', scrapeTimeout: '5s' }]);
  expect(built?.metadata.labels).toEqual({ ...selector, 'app.kubernetes.io/version': '1.6', release: 'prometheus' });
});

test('there is none unless monitoring is enabled', () => {
  expect(serviceMonitorFor(example({ monitoring: { serviceMonitor: { interval: '15s' } } }))).toBeUndefined();
});
