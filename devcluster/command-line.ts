/** What every command line of ours has in common: Ctrl-C stops it in order, and an error says what to do. */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { CommandFailed } from './command.ts';
import { Problem } from './problem.ts';

/** Runs the command and sets the exit code. */
export async function runCommandLine(command: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const interrupt = new AbortController();
  const onSignal = () => {
    if (interrupt.signal.aborted) process.exit(130); // asked twice: without waiting for the orderly end
    interrupt.abort();
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, onSignal);
  try {
    await command(interrupt.signal);
  } catch (error) {
    process.exitCode = interrupt.signal.aborted ? 130 : 1;
    process.stderr.write(`\n${interrupt.signal.aborted ? STOPPED : explanation(error)}\n`);
  }
}

/** What was asked for. Who writes something else is told so, and where to look. */
export function readArguments<const Config extends ParseArgsConfig>(config: Config) {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new Problem(error instanceof Error ? error.message : String(error), 'See --help.');
  }
}

const STOPPED = 'Stopped. Parts that were built are kept for the next time.';

function explanation(error: unknown): string {
  if (error instanceof Problem) return `error: ${error.message}${causeOf(error)}\n  what to do: ${error.remedy}`;
  if (error instanceof CommandFailed) return `error: ${error.message}`;
  if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') {
    return `error: The disk is full: ${error.message}\n  what to do: Free some space and run the same command again.`;
  }
  return `error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

/** What the program said that caused the problem, unless the problem tells it already. */
function causeOf(problem: Problem): string {
  const { cause } = problem;
  return cause instanceof CommandFailed && !problem.message.includes(cause.message) ? `\n${cause.message}` : '';
}
