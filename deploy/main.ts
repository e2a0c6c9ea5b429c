/** The operator's image, and the operator in a cluster: built, deployed, removed. */
import path from 'node:path';
import { readArguments, runCommandLine } from '../devcluster/command-line.ts';
import { load } from '../devcluster/load.ts';
import { Problem } from '../devcluster/problem.ts';
import { ownComponent } from '../tools/bill-of-materials.ts';
import { commitOf } from '../tools/bundle.ts';
import { untilAdmitting } from './admission.ts';
import { buildBundleImage } from './bundle-image.ts';
import { findTool, run, runVisibly } from './container-tool.ts';
import { type BuiltImage, buildImage } from './image.ts';
import { fullReference } from './image-reference.ts';
import { writeInstallFile } from './install-file.ts';
import { isDeployment, manifests, textOf, withImage } from './manifests.ts';
import { remove } from './removal.ts';
import { untilRolledOut } from './rollout.ts';
import { findTarget } from './target.ts';

const ROOT = path.dirname(import.meta.dirname);
const HELP = `Usage: node deploy/main.ts <command> [options]

Commands:
  image            build the operator's image, an OCI archive
  up               deploy the operator to the cluster of KUBECONFIG, or to the embedded one, whose
                   nodes get the image that is built here; wait until it is ready
  down             remove it
  install-yaml     write everything that installs the operator into one file, dist/install.yaml
  docker-build     build the image by the Dockerfile, with Docker or Podman
  docker-push      push the image, with Docker or Podman
  bundle-image     build the image of the bundle for the Operator Lifecycle Manager, an OCI archive
  bundle-build     build it by bundle.Dockerfile, with Docker or Podman

Options:
  --image <name>   the image's name (default: ghcr.io/c5c3/memcached-operator:latest)
  --archive <file> where the image is written (default: dist/image.tar)
  --name <name>    which embedded cluster (default: "default")
  --keep-crd       down: keep the definition of Memcacheds, and so all Memcacheds
  --help           this text
`;

const OPTIONS = {
  image: { type: 'string', default: 'ghcr.io/c5c3/memcached-operator:latest' },
  archive: { type: 'string', default: path.join(ROOT, 'dist/image.tar') },
  name: { type: 'string', default: 'default' },
  'keep-crd': { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

type Options = ReturnType<typeof readArguments<{ options: typeof OPTIONS }>>['values'];

async function main(args: readonly string[], signal: AbortSignal): Promise<void> {
  const { values, positionals } = readArguments({ args, allowPositionals: true, options: OPTIONS });
  const [command] = positionals;
  if (values.help || command === undefined) process.stdout.write(HELP);
  else if (command === 'image') await image(values, signal);
  else if (command === 'up') await up(values, signal);
  else if (command === 'down') await down(values, signal);
  else if (command === 'install-yaml') await installYaml(values, signal);
  else if (command === 'docker-build') await dockerBuild(values, signal);
  else if (command === 'docker-push') await dockerPush(values, signal);
  else if (command === 'bundle-image') await bundleImage(values, signal);
  else if (command === 'bundle-build') await bundleBuild(values, signal);
  else throw new Problem(`There is no command "${command}".`, 'See --help.');
}

async function image({ image: name, archive }: Options, signal: AbortSignal): Promise<BuiltImage> {
  const reference = fullReference(name);
  const built = await buildImage(reference, archive, { signal, output: process.stdout });
  say(`${path.relative(process.cwd(), built.file)}: ${reference}, ${built.digest}`);
  return built;
}

async function up(options: Options, signal: AbortSignal): Promise<void> {
  const reference = fullReference(options.image);
  const target = await findTarget(ROOT, options.name, signal);
  let digest: string | undefined;
  if (target.instance) {
    const built = await image(options, signal);
    await load(target.instance, { archive: built.file, signal });
    digest = built.digest;
  }
  const since = performance.now();
  const objects = (await manifests(target)).map((manifest) => withImage(manifest, reference, digest));
  const applied = await target.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], textOf(objects));
  say(applied.trimEnd());
  const deployments = objects.filter(isDeployment);
  for (const deployment of deployments) await untilRolledOut({ target, deployment, say, signal });
  await untilAdmitting(target, signal);
  say(`the operator is ready after ${((performance.now() - since) / 1000).toFixed(1)} s`);
}

async function down({ name, 'keep-crd': keepCrd }: Options, signal: AbortSignal): Promise<void> {
  await remove({ target: await findTarget(ROOT, name, signal), keepCrd, say, signal });
  say('the operator is gone');
}

async function installYaml({ image: name }: Options, signal: AbortSignal): Promise<void> {
  const file = path.join(ROOT, 'dist/install.yaml');
  const reference = fullReference(name);
  await writeInstallFile(file, { image: reference, signal, output: process.stdout });
  say(`${path.relative(process.cwd(), file)}: installs ${reference}`);
}

async function dockerBuild({ image: name }: Options, signal: AbortSignal): Promise<void> {
  const reference = fullReference(name);
  const tool = await findTool(run, signal);
  const parts = [`COMMIT=${commitOf(process.env)}`, `VERSION=${ownComponent(ROOT).version}`];
  await runVisibly(
    tool,
    ['build', ...parts.flatMap((part) => ['--build-arg', part]), '--tag', reference, ROOT],
    signal,
  );
  say(`${tool} has built ${reference}`);
}

async function dockerPush({ image: name }: Options, signal: AbortSignal): Promise<void> {
  const reference = fullReference(name);
  const tool = await findTool(run, signal);
  await runVisibly(tool, ['push', reference], signal);
  say(`${tool} has pushed ${reference}`);
}

async function bundleImage({ image: name, archive }: Options, signal: AbortSignal): Promise<void> {
  const reference = fullReference(name);
  const { file, digest } = await buildBundleImage(reference, archive, signal);
  say(`${path.relative(process.cwd(), file)}: ${reference}, ${digest}`);
}

async function bundleBuild({ image: name }: Options, signal: AbortSignal): Promise<void> {
  const reference = fullReference(name);
  const tool = await findTool(run, signal);
  await runVisibly(
    tool,
    ['build', '--file', path.join(ROOT, 'bundle.Dockerfile'), '--tag', reference, path.join(ROOT, 'bundle')],
    signal,
  );
  say(`${tool} has built ${reference}`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

await runCommandLine((signal) => main(process.argv.slice(2), signal));
