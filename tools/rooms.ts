/** The rooms of the code base, and which of them each may import: the table of ARCHITECTURE.md, as it is enforced. */

/** The rooms inside src/. */
export const operator = [
  'kubernetes',
  'api',
  'children',
  'status',
  'memcached',
  'runtime',
  'controller',
  'webhooks',
  'config',
  'generate',
  'main',
] as const;

/** Every room may import itself. What a room may not import, it may not import as a type either. */
export const mayImport: Readonly<Record<string, readonly string[]>> = {
  // inside src/
  kubernetes: [],
  api: ['kubernetes'],
  children: ['api', 'kubernetes'],
  status: ['api', 'kubernetes'],
  memcached: [],
  runtime: ['kubernetes'],
  controller: ['kubernetes', 'api', 'children', 'status', 'memcached', 'runtime'],
  webhooks: ['api', 'kubernetes', 'runtime'],
  config: [],
  generate: ['kubernetes', 'api', 'children', 'controller', 'webhooks'],
  main: operator,

  // beside src/
  devcluster: [],
  deploy: ['devcluster', 'tools'],
  demo: ['devcluster'],
  tools: [],
  test: [...operator, 'devcluster', 'deploy'],
  bench: [...operator, 'devcluster', 'deploy', 'test'],
};

/** The rooms of the operator that may touch `process`; beside src/ everyone may. */
export const mayTouchProcess: readonly string[] = ['main'];

/** The directories that are looked at. */
export const directories: readonly string[] = ['src', 'devcluster', 'deploy', 'demo', 'tools', 'test', 'bench'];

/**
 * The room of a file, given relative to the root of the repository: `src/api/schema.ts` is in `api`, `src/config.test.ts` in `config`.
 * The version is in package.json, and main tells it.
 */
export function roomOf(file: string): string {
  if (file === 'package.json') return 'main';
  const [top = '', second = ''] = file.split('/');
  return top === 'src' ? second.replace(/(\.test)?\.ts$/, '') : top;
}
