/** What the Helm chart has from the code: its version, permissions and webhooks. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { operatorRules, userRoles } from './permissions.ts';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
}

/** The version of the chart is that of the operator: they are released together. */
export function chart(root: string): object {
  const text = readFileSync(path.join(root, 'package.json'), 'utf8');
  const { name, version, description } = JSON.parse(text) as Manifest;
  const home = `https://github.com/c5c3/${name}`;
  return {
    apiVersion: 'v2',
    name,
    description,
    type: 'application',
    version,
    appVersion: version,
    kubeVersion: '>=1.31.0-0',
    home,
    sources: [home],
    keywords: ['memcached', 'cache', 'operator'],
    annotations: { 'artifacthub.io/license': 'Apache-2.0', 'artifacthub.io/operator': 'true' },
  };
}

export function chartPermissions(): object {
  return { ...operatorRules, users: userRoles };
}
