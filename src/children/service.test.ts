import { expect, test } from 'vitest';
import { example } from './example.ts';
import { serviceFor } from './service.ts';

test('is headless, and leads to the servers', () => {
  const { metadata, spec } = serviceFor(example());
  expect(spec).toEqual({
    clusterIP: 'None',
    ports: [{ name: 'memcached', port: 11211, targetPort: 'memcached', protocol: 'TCP' }],
    selector: {
      'app.kubernetes.io/name': 'memcached',
      'app.kubernetes.io/instance': 'my-cache',
      'app.kubernetes.io/managed-by': 'memcached-operator',
    },
  });
  expect(metadata.annotations).toEqual({});
});

test('has the annotations that the Memcached gives it', () => {
  const annotations = { 'example.com/a': 'b' };
  expect(serviceFor(example({ service: { annotations } })).metadata.annotations).toEqual(annotations);
});

test('has a port for metrics when there are some', () => {
  const { ports } = serviceFor(example({ monitoring: { enabled: true } })).spec;
  expect(ports[1]).toEqual({ name: 'metrics', port: 9150, targetPort: 'metrics', protocol: 'TCP' });
});
