import { describe, expect, test } from 'vitest';
import { violations } from './import-rules.ts';

describe('a room that the table does not allow', () => {
  test.each([
    ['import', "import { build } from '../children/deployment.ts';"],
    ['import type', "import type { Build } from '../children/deployment.ts';"],
    ['inline type import', "import { type Build } from '../children/deployment.ts';"],
    ['import for its effect', "import '../children/deployment.ts';"],
    ['export from', "export { build } from '../children/deployment.ts';"],
    ['export type from', "export type { Build } from '../children/deployment.ts';"],
    ['export all', "export * from '../children/deployment.ts';"],
    ['dynamic import', "export const load = () => import('../children/deployment.ts');"],
    ['import inside a type', "export type Build = import('../children/deployment.ts').Build;"],
    ['import through a detour', "import { build } from '../api/../children/deployment.ts';"],
  ])('is refused: %s', (_, source) => {
    const line = `// first line\n${source}\n`;
    expect(violations('src/status/conditions.ts', line)).toEqual([
      expect.stringMatching(/^src\/status\/conditions\.ts:2: status may not import children /),
    ]);
    expect(violations('src/controller/reconcile.ts', line)).toEqual([]);
  });

  test('is refused in the tests of that room, too', () => {
    const source = "import { x } from '../runtime/queue/work-queue.ts';";
    expect(violations('src/api/schema.test.ts', source)).toHaveLength(1);
    expect(violations('src/webhooks/server.test.ts', source)).toEqual([]);
  });
});

test.each([
  ['src/memcached/stats.ts', "import { x } from '../kubernetes/pod.ts';", 'memcached may not import kubernetes'],
  ['src/runtime/client/client.ts', "import { x } from '../../api/schema.ts';", 'runtime may not import api'],
  ['src/controller/watches.ts', "import { x } from '../webhooks/review.ts';", 'controller may not import webhooks'],
  ['src/controller/watches.ts', "import { x } from '../config.ts';", 'controller may not import config'],
  ['src/config.ts', "import { x } from './main.ts';", 'config may not import main'],
  ['src/main.ts', "import { x } from '../devcluster/instance.ts';", 'main may not import devcluster'],
  ['src/main.ts', "import { x } from '../test/support/cluster.ts';", 'main may not import test'],
  ['src/main.ts', "import { x } from '../bench/scale.ts';", 'main may not import bench'],
  ['devcluster/instance.ts', "import { x } from '../src/config.ts';", 'devcluster may not import config'],
  ['src/helpers/text.ts', '', 'helpers is not a room'],
  ['src/main.ts', "import { x } from '#api';", 'write it as a relative path'],
  ['src/main.ts', "import { x } from 'memcached-operator/devcluster/instance.ts';", 'write it as a relative path'],
  ['src/main.ts', 'export const load = (name: string) => import(name);', 'computed name'],
  ['src/main.ts', 'import {', 'cannot be read'],
])('%s with %s: %s', (file, source, problem) => {
  expect(violations(file, source).join('\n')).toContain(problem);
});

test.each([
  ['src/main.ts', "import { x } from './config.ts'; import { y } from './controller/watches.ts';"],
  ['src/main.test.ts', "import { x } from './main.ts';"],
  [
    'src/runtime/client/client.ts',
    "import http2 from 'node:http2'; import pino from 'pino'; import { x } from './error.ts';",
  ],
  ['test/e2e/walk.test.ts', "import { x } from '../../src/main.ts'; import { y } from '../../devcluster/instance.ts';"],
  ['devcluster/build.ts', 'export const load = (name: string) => import(name);'],
  [
    'src/api/schema.ts',
    "// import { x } from '../runtime/queue.ts'\nexport const text = \"import '../runtime/queue.ts'\";",
  ],
])('%s may contain %s', (file, source) => {
  expect(violations(file, source)).toEqual([]);
});

describe('process', () => {
  test.each([
    'export const home = process.env;',
    "process.on('exit', () => {});",
    'export const home = globalThis.process.env;',
    "export const home = global['process'];",
    'export type Env = typeof process.env;',
    'const { env } = process; export { env };',
    "import { env } from 'node:process'; export { env };",
    "export const load = () => import('process');",
  ])('is refused outside main.ts: %s', (source) => {
    const problem = expect.stringContaining('touches process; only main.ts may');
    expect(violations('src/runtime/servers.ts', source)).toEqual([problem]);
    expect(violations('src/config.ts', source)).toEqual([problem]);
    expect(violations('src/main.ts', source)).toEqual([]);
    expect(violations('devcluster/instance.ts', source)).toEqual([]);
  });

  test('is free as the name of a property', () => {
    const source =
      'interface Job { process: number } export const f = (job: Job) => job.process + { process: 1 }.process;';
    expect(violations('src/runtime/servers.ts', source)).toEqual([]);
  });
});
