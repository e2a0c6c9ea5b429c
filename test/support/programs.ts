/** Programs that tests run, built where they are missing. */
import { beforeAll } from 'vitest';
import { type ProgramName, programPart } from '../../devcluster/programs.ts';
import { buildMissing } from '../../devcluster/progress.ts';

/** Building them takes minutes, the first time. */
const BUILD_MS = 2_400_000;

/** For all tests of a file. */
export function needPrograms(...names: readonly ProgramName[]): void {
  beforeAll(() => buildPrograms(names, new AbortController().signal), BUILD_MS);
}

export function buildPrograms(names: readonly ProgramName[], signal: AbortSignal): Promise<void> {
  return buildMissing(names.map(programPart), signal, process.stdout);
}
