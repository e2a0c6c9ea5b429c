/** A Secret for tests. */
import type { Secret } from './content.ts';

export function exampleSecret(texts: Readonly<Record<string, string>>, version = '1'): Secret {
  const data = Object.entries(texts).map(([key, text]): [string, string] => [
    key,
    Buffer.from(text).toString('base64'),
  ]);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'secret', namespace: 'default', uid: 'uid-of-secret', resourceVersion: version },
    data: Object.fromEntries(data),
  };
}
