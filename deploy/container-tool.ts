/** Docker or Podman, where there is one that works: builds the image by the Dockerfile, and pushes it. */
import { run as runCommand } from '../devcluster/command.ts';
import { Problem } from '../devcluster/problem.ts';

/** Runs a program to its end; rejects when it is missing or fails. */
export type Run = (program: string, args: readonly string[], signal: AbortSignal) => Promise<unknown>;

const TOOLS = ['docker', 'podman'] as const;

export const run: Run = (program, args, signal) => runCommand(program, args, { signal });

/** Shows what the program says as it comes. */
export const runVisibly: Run = (program, args, signal) =>
  runCommand(program, args, { signal, onLine: (line) => process.stderr.write(`${line}\n`) });

/** The first that answers: the program alone is not enough, for Docker has a daemon, too. */
export async function findTool(runTool: Run, signal: AbortSignal): Promise<string> {
  const troubles: string[] = [];
  for (const tool of TOOLS) {
    try {
      await runTool(tool, ['info'], signal);
      return tool;
    } catch (error) {
      signal.throwIfAborted();
      troubles.push(`${tool}: ${troubleOf(error)}`);
    }
  }
  throw new Problem(
    `This needs Docker or Podman, and neither works here.\n${troubles.join('\n')}`,
    'Install one of them or start its daemon. Or build the image without them, `make image`, and push dist/image.tar with a tool such as skopeo or crane.',
  );
}

function troubleOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 'is not installed';
  return error instanceof Error ? (error.message.trim().split('\n').at(-1) ?? '') : String(error);
}
