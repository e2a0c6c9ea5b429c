/** The cluster that a command works on, the one of KUBECONFIG or an embedded one, and kubectl for it. */
import path from 'node:path';
import { CommandFailed, type CommandOptions, run, WITHOUT_PROXY } from './command.ts';
import { isInstalled } from './host.ts';
import { kubeconfigOf } from './instance.ts';
import { Problem } from './problem.ts';

/** How kubectl is called on a cluster. */
export interface Kubectl {
  readonly kubeconfig: string;
  readonly command: readonly [program: string, ...args: string[]];
  readonly env: Readonly<Record<string, string>>;
}

/** What kubectl prints. */
export function callKubectl(
  { command: [program, ...start], env }: Kubectl,
  args: readonly string[],
  options: Pick<CommandOptions, 'input' | 'signal'>,
): Promise<string> {
  return run(program, [...start, ...args], { ...options, env });
}

/** For the cluster that KUBECONFIG names, if it does. */
export async function givenCluster(signal: AbortSignal): Promise<Kubectl | undefined> {
  const given = process.env['KUBECONFIG'];
  if (!given) return undefined;
  if (!(await isInstalled('kubectl'))) {
    throw new Problem(
      'KUBECONFIG is set, but there is no kubectl on the PATH.',
      'Install kubectl, or unset KUBECONFIG to work on the embedded cluster, which has one of its own.',
    );
  }
  const kubectl: Kubectl = { kubeconfig: given, command: ['kubectl'], env: {} };
  await callKubectl(kubectl, ['version', '--request-timeout=15s'], { signal }).catch((error: unknown) => {
    if (!(error instanceof CommandFailed)) throw error;
    throw new Problem(
      `The cluster of KUBECONFIG=${given} does not answer.`,
      'See that `kubectl version` works, or unset KUBECONFIG to work on the embedded cluster.',
      { cause: error },
    );
  });
  return kubectl;
}

/** For an embedded cluster. */
export function kubectlOf(instance: { readonly directory: string }): Kubectl {
  const kubeconfig = path.relative(process.cwd(), kubeconfigOf(instance));
  const program = path.join(path.dirname(kubeconfig), 'kubectl');
  return { kubeconfig, command: [program, '--kubeconfig', kubeconfig], env: WITHOUT_PROXY };
}
