/** What the examples take for granted: the namespace of some, and the Secrets that they name. */
import type { TestCluster } from './cluster.ts';
import { certificate } from './secrets.ts';

const NAMESPACE = 'production';

export async function prepareForExamples({ kubectl }: Pick<TestCluster, 'kubectl'>): Promise<void> {
  await kubectl(['create', 'namespace', NAMESPACE]);
  const { certificate: crt, key } = certificate();
  const secrets = {
    'memcached-tls': { 'tls.crt': crt, 'tls.key': key },
    'memcached-sasl-credentials': { 'memcached-sasl-db': 'keystone@secure-cache:a-good-password\n' },
  };
  for (const [name, stringData] of Object.entries(secrets)) {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: NAMESPACE }, stringData };
    await kubectl(['apply', '-f', '-'], { input: JSON.stringify(secret) });
  }
}
