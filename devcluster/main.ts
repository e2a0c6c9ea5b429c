/** The command line of the embedded cluster. */
import path from 'node:path';
import { readArguments, runCommandLine } from './command-line.ts';
import { down } from './down.ts';
import { ensurePackages, requireRoot } from './host.ts';
import { findInstance, kubeconfigOf, NODE_FORMS, type NodeForm } from './instance.ts';
import { load } from './load.ts';
import { Problem } from './problem.ts';
import { type ProgramName, programNames, programPart, programPath } from './programs.ts';
import { ensureBuilt, partsOf, up } from './up.ts';

const HELP = `Usage: node devcluster/main.ts <command> [options]

A real Kubernetes on this machine, built from source.

Commands:
  up               start the cluster, or heal it; builds what is missing
  down             stop it and remove every trace of it
  load <archive>   give its nodes an image, from an OCI archive
  build [<form>…]  only build what is missing, for clusters of these forms, or of every one
  program <name>…  build programs if they are missing, and print where they are
                   (${programNames.join(', ')})

Options:
  --name <name>    which cluster (default: "default"); several can run at once
  --node <form>    real: two real nodes (default); none: only the control plane;
                   fake: simulated nodes, for scale
  --fake-nodes <n> how many simulated nodes (default: 10)
  --audit          log every API request with its user agent to audit.log
  --scale          raise the limits of controller-manager and scheduler
  --help           this text

Environment:
  DEVCLUSTER_CACHE where built parts are kept (default: ~/.cache/memcached-operator)
  KUBERNETES       newest (default) or oldest: which Kubernetes the cluster is
`;

const OPTIONS = {
  name: { type: 'string', default: 'default' },
  node: { type: 'string', default: 'real' },
  'fake-nodes': { type: 'string', default: '10' },
  audit: { type: 'boolean', default: false },
  scale: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

async function main(args: readonly string[], signal: AbortSignal): Promise<void> {
  const { values, positionals } = readArguments({ args, allowPositionals: true, options: OPTIONS });
  const [command, ...rest] = positionals;
  const [argument, ...more] = rest;
  if (values.help || command === undefined) {
    process.stdout.write(HELP);
    return;
  }
  const root = path.dirname(import.meta.dirname);
  if (command === 'up') {
    const options = { audit: values.audit, scale: values.scale, fakeNodes: countOf(values['fake-nodes']) };
    const instance = await up({
      ...options,
      root,
      startedBy: 'cluster',
      name: values.name,
      form: formOf(values.node),
      signal,
      output: process.stdout,
    });
    const kubeconfig = path.relative(process.cwd(), kubeconfigOf(instance));
    process.stdout.write(
      `  kubectl --kubeconfig ${kubeconfig} get nodes    (no kubectl? ${path.join(path.dirname(kubeconfig), 'kubectl')} is one)\n`,
    );
  } else if (command === 'down') {
    const onWait = () =>
      process.stderr.write(`waiting for another process that is starting or stopping "${values.name}"\n`);
    if (await down(root, values.name, { signal, onWait })) process.stdout.write(`cluster "${values.name}" is gone\n`);
  } else if (command === 'load') {
    const instance = await findInstance(root, values.name);
    if (!instance) throw new Problem(`There is no cluster "${values.name}".`, 'Start it first: `make cluster`.');
    await load(instance, { archive: archiveOf(argument), signal });
    process.stdout.write(`loaded ${argument} into the nodes of "${values.name}"\n`);
  } else if (command === 'build') {
    requireRoot();
    await ensurePackages(signal, (line) => process.stdout.write(`${line}\n`));
    const forms = rest.length > 0 ? rest.map(formOf) : NODE_FORMS;
    await ensureBuilt([...new Set(forms.flatMap(partsOf))], { signal, output: process.stdout });
  } else if (command === 'program') {
    const names = [argument, ...more].map(programOf);
    await ensureBuilt(names.map(programPart), { signal, output: process.stderr });
    for (const name of names) process.stdout.write(`${programPath(name)}\n`);
  } else {
    throw new Problem(`There is no command "${command}".`, 'See --help.');
  }
}

function formOf(text: string): NodeForm {
  const form = NODE_FORMS.find((known) => known === text);
  if (form) return form;
  throw new Problem(`"${text}" is no form of a cluster.`, `Use one of: ${NODE_FORMS.join(', ')}.`);
}

function programOf(text: string | undefined): ProgramName {
  const name = programNames.find((known) => known === text);
  if (name) return name;
  throw new Problem(`"${text ?? ''}" is no program of the cluster.`, `Use one of: ${programNames.join(', ')}.`);
}

function archiveOf(text: string | undefined): string {
  if (text !== undefined) return path.resolve(text);
  throw new Problem('There is no name of an archive.', 'Write it after the command: load dist/image.tar.');
}

function countOf(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count > 0 && count <= 5000) return count;
  throw new Problem(`"${text}" is no number of nodes.`, 'Use a whole number from 1 to 5000.');
}

await runCommandLine((signal) => main(process.argv.slice(2), signal));
