/** Checks that every source stays within what its room may import. Run it from the root: `node tools/import-rules.ts`. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { directories, mayImport, mayTouchProcess, roomOf } from './rooms.ts';
import { readImports } from './source-imports.ts';

const processModules: readonly (string | undefined)[] = ['node:process', 'process'];

/** The sentences that say what is wrong with one file, given relative to the root. */
export function violations(file: string, source: string): string[] {
  const room = roomOf(file);
  const allowed = mayImport[room];
  if (!allowed) return [`${file}: ${room} is not a room; the rooms stand in tools/rooms.ts`];

  const { imports, processLines, syntaxErrors } = readImports(file, source);
  const inOperator = file.startsWith('src/');
  const problems = syntaxErrors.map((message) => `${file}: cannot be read: ${message}`);
  for (const { line, module } of imports) {
    if (module === undefined) {
      if (inOperator) problems.push(`${file}:${line}: ${room} imports a computed name, which cannot be checked`);
    } else {
      const problem = importProblem(file, module, [room, ...allowed]);
      if (problem !== undefined) problems.push(`${file}:${line}: ${room} ${problem}`);
    }
  }
  if (inOperator && !mayTouchProcess.includes(room)) {
    const lines = [
      ...imports.filter(({ module }) => processModules.includes(module)).map(({ line }) => line),
      ...processLines,
    ];
    problems.push(...lines.map((line) => `${file}:${line}: ${room} touches process; only main.ts may`));
  }
  return problems;
}

function importProblem(file: string, module: string, allowed: readonly string[]): string | undefined {
  if (/^(\/|#|file:|memcached-operator(\/|$))/.test(module)) return `imports ${module}: write it as a relative path`;
  if (!module.startsWith('.')) return undefined; // a package, or a part of Node
  const room = roomOf(path.posix.join(path.posix.dirname(file), module));
  return allowed.includes(room) ? undefined : `may not import ${room} (${module})`;
}

function main(): void {
  const files = directories
    .filter((directory) => existsSync(directory))
    .flatMap((directory) => globSync(`${directory}/**/*.{ts,mts,cts}`, { exclude: ['**/node_modules/**'] }))
    .toSorted();
  const problems = files.flatMap((file) => violations(file, readFileSync(file, 'utf8')));
  for (const problem of problems) console.error(problem);
  const rooms = new Set(files.map(roomOf)).size;
  console.log(`import rules: ${files.length} files in ${rooms} rooms, ${problems.length} violations`);
  if (files.length === 0) console.error('no file was looked at: run this from the root of the repository');
  if (problems.length > 0 || files.length === 0) process.exitCode = 1;
}

if (import.meta.main) main();
