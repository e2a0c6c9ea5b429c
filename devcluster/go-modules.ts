/** Fetches Go modules apart from compiling them, so that a network error is told as one, and a silent registry is noticed. */
import { CommandFailed, type CommandOptions, run } from './command.ts';
import { Problem } from './problem.ts';

/** How long the module proxy may say nothing before we stop waiting for it. */
const PATIENCE_MS = 180_000;

export interface FetchOptions extends Pick<CommandOptions, 'env' | 'signal'> {
  /** The directory of the go.mod. */
  readonly cwd: string;
  readonly report: (doing: string) => void;
  readonly patienceMs?: number;
}

/** Brings everything that the package is made of into Go's module cache. */
export async function fetchModules(goPackage: string, options: FetchOptions): Promise<void> {
  const { cwd, env = {}, signal, report, patienceMs = PATIENCE_MS } = options;
  const silence = new AbortController();
  const giveUp = () => silence.abort();
  let timer = setTimeout(giveUp, patienceMs);
  const onLine = (line: string) => {
    clearTimeout(timer);
    timer = setTimeout(giveUp, patienceMs);
    report(line.replace('go: ', '').slice(0, 80));
  };
  report('fetching modules');
  try {
    const stop = AbortSignal.any(signal ? [signal, silence.signal] : [silence.signal]);
    await run('go', ['list', '-deps', '-f', '{{.Name}}', goPackage], { cwd, env, signal: stop, onLine });
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof CommandFailed) && !silence.signal.aborted) throw error;
    const seen = error instanceof CommandFailed ? error.message : `the proxy said nothing for ${patienceMs / 1000} s`;
    throw new Problem(
      `The Go modules of ${goPackage} could not be fetched: ${seen}`,
      'See that the Go module proxy answers (`go env GOPROXY`; HTTPS_PROXY if you are behind one), then run the same command again: finished parts are kept.',
      { cause: error },
    );
  } finally {
    clearTimeout(timer);
  }
}
