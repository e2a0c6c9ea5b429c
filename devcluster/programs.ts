/** The Go programs of the cluster, each built from a pinned module under modules/. */
import { readFileSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type CommandOptions, run } from './command.ts';
import { fetchModules } from './go-modules.ts';
import { chosenRelease, releases } from './kubernetes.ts';
import { type BuildContext, type Part, partDirectory } from './parts.ts';

const MODULES = path.join(import.meta.dirname, 'modules');

/** How every command of Go is run: in the module, with its environment. */
type GoOptions = Required<Pick<CommandOptions, 'cwd' | 'env' | 'signal'>>;

interface Program {
  /** The directory under modules/ that pins it. */
  readonly module: string;
  readonly package: string;
  readonly version: string;
  readonly seconds: number;
  readonly tags?: string;
  readonly linkerFlags?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What the cluster needs of the module besides the program. */
  readonly extra?: (directory: string, options: GoOptions) => Promise<void>;
}

const KWOK_STAGES = ['node/fast', 'node/heartbeat-with-lease', 'pod/fast'];

/** Of the release that is asked for, when it is asked for. */
const kubernetes =
  (name: string, seconds: number, releaseOf = chosenRelease) =>
  (): Program => {
    const { version, module } = releaseOf();
    const [major, minor] = version.slice(1).split('.');
    const flags = { gitVersion: version, gitMajor: major, gitMinor: minor };
    const linkerFlags = Object.entries(flags).map(
      ([flag, value]) => `-X k8s.io/component-base/version.${flag}=${value}`,
    );
    return { module, package: `k8s.io/kubernetes/cmd/${name}`, version, seconds, linkerFlags: linkerFlags.join(' ') };
  };

const containerd = (name: string, seconds: number): Program => ({
  module: 'containerd',
  package: `github.com/containerd/containerd/v2/cmd/${name}`,
  version: 'v2.1.4',
  seconds,
  tags: 'no_btrfs no_devmapper no_zfs',
});

const certManager = (name: string, seconds: number, extra?: NonNullable<Program['extra']>): Program => ({
  module: 'cert-manager',
  package: `github.com/cert-manager/cert-manager/cmd/${name}`,
  version: 'v1.11.5',
  seconds,
  ...(extra && { extra }),
});

// A module that the public checksum database does not know is checked against our go.sum alone.
const unlisted = (modules: string) => ({ GONOSUMDB: modules });

const PROGRAMS = {
  'kube-apiserver': kubernetes('kube-apiserver', 270),
  'kube-controller-manager': kubernetes('kube-controller-manager', 60),
  'kube-scheduler': kubernetes('kube-scheduler', 15),
  kubelet: kubernetes('kubelet', 60),
  'kube-proxy': kubernetes('kube-proxy', 20),
  kubectl: kubernetes('kubectl', 30, () => releases.newest), // it speaks to older ones, too
  etcd: { module: 'etcd', package: 'go.etcd.io/etcd/server/v3', version: 'v3.6.12', seconds: 60 },
  containerd: containerd('containerd', 110),
  'containerd-shim-runc-v2': containerd('containerd-shim-runc-v2', 15),
  ctr: containerd('ctr', 15),
  coredns: { module: 'coredns', package: 'github.com/coredns/coredns', version: 'v1.15.0', seconds: 170 },
  'kube-network-policies': {
    module: 'network-policies',
    package: 'sigs.k8s.io/kube-network-policies/cmd',
    version: 'v0.8.0',
    seconds: 90,
    env: unlisted('sigs.k8s.io/kube-network-policies,sigs.k8s.io/network-policy-api'),
  },
  kwok: { module: 'kwok', package: 'sigs.k8s.io/kwok/cmd/kwok', version: 'v0.8.0', seconds: 95, extra: kwokStages },
  memcached_exporter: {
    module: 'memcached-exporter',
    package: 'github.com/prometheus/memcached_exporter/cmd/memcached_exporter',
    version: 'v0.16.0',
    seconds: 20,
  },
  // The parser of Prometheus, for tests of metrics.
  prom2json: {
    module: 'prom2json',
    package: 'github.com/prometheus/prom2json/cmd/prom2json',
    version: 'v1.4.2',
    seconds: 25,
  },
  // Kubernetes' own metrics of pods, for tests of autoscaling.
  'metrics-server': {
    module: 'metrics-server',
    package: 'sigs.k8s.io/metrics-server/cmd/metrics-server',
    version: 'v0.9.0',
    seconds: 120,
  },
  chainsaw: {
    module: 'chainsaw',
    package: 'github.com/kyverno/chainsaw',
    version: 'v0.2.14',
    seconds: 225,
    // Newer Go releases refuse to compile one of its dependencies.
    env: { GOTOOLCHAIN: 'go1.25.5', ...unlisted('github.com/kyverno/*') },
  },
  helm: { module: 'helm', package: 'helm.sh/helm/v3/cmd/helm', version: 'v3.22.0', seconds: 60 },
  kustomize: { module: 'kustomize', package: 'sigs.k8s.io/kustomize/kustomize/v5', version: 'v5.8.2', seconds: 30 },
  // What Prometheus makes of alerts, for tests of them. Its ways of finding targets in all clouds are left out: they are most of it.
  promtool: {
    module: 'promtool',
    package: 'github.com/prometheus/prometheus/cmd/promtool',
    version: 'v0.314.0',
    seconds: 120,
    tags: 'remove_all_sd',
    env: { GOFLAGS: '-buildvcs=false -tags=remove_all_sd' },
  },
  // What the Operator Lifecycle Manager makes of the bundle and the catalog, for tests of them.
  'operator-verify': {
    module: 'olm',
    package: 'github.com/operator-framework/api/cmd/operator-verify',
    version: 'v0.35.0',
    seconds: 75,
  },
  opm: {
    module: 'olm',
    package: 'github.com/operator-framework/operator-registry/cmd/opm',
    version: 'v1.60.0',
    seconds: 150,
    tags: 'containers_image_openpgp',
    env: { GOFLAGS: '-buildvcs=false -tags=containers_image_openpgp' },
  },
  // It makes the certificate of the webhooks where it is asked to; the last release whose programs are part of its module.
  'cert-manager-controller': certManager('controller', 130, certManagerDefinitions),
  'cert-manager-cainjector': certManager('cainjector', 60),
} satisfies Record<string, Program | (() => Program)>;

export type ProgramName = keyof typeof PROGRAMS;
export const programNames = Object.keys(PROGRAMS) as ProgramName[];

const parts = new Map<ProgramName, Part>();

/** The part that builds a program; the same object each time. */
export function programPart(name: ProgramName): Part {
  const known = parts.get(name);
  if (known) return known;
  const entry: Program | (() => Program) = PROGRAMS[name];
  const program = typeof entry === 'function' ? entry() : entry;
  const module = path.join(MODULES, program.module);
  const part: Part = {
    name,
    version: program.version,
    inputs: [
      readFileSync(path.join(module, 'go.mod'), 'utf8'),
      readFileSync(path.join(module, 'go.sum'), 'utf8'),
      JSON.stringify([program.package, program.tags, program.linkerFlags, program.env]),
    ],
    oneAtATime: program.module,
    seconds: program.seconds,
    build: (directory, context) => compile(name, program, module, directory, context),
  };
  parts.set(name, part);
  return part;
}

/** Where the built program is. */
export function programPath(name: ProgramName): string {
  return path.join(partDirectory(programPart(name)), name);
}

async function compile(
  name: string,
  program: Program,
  module: string,
  directory: string,
  context: BuildContext,
): Promise<void> {
  const options: GoOptions = {
    cwd: module,
    env: { CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false', GOTOOLCHAIN: 'auto', GOWORK: 'off', ...program.env },
    signal: context.signal,
  };
  await fetchModules(program.package, { ...options, report: context.report });
  context.report('compiling');
  let packages = 0;
  const onLine = (line: string) => {
    packages += 1;
    context.report(`compiling, ${packages} packages, ${line.slice(0, 60)}`);
  };
  const flags = ['-v', '-trimpath', '-tags', program.tags ?? '', '-ldflags', `-s -w ${program.linkerFlags ?? ''}`];
  // All modules are here: a build that still asks for the network has a mistake in its go.sum, and shall say so.
  await run('go', ['build', ...flags, '-o', path.join(directory, name), program.package], {
    ...options,
    env: { ...options.env, GOPROXY: 'off' },
    onLine,
  });
  await program.extra?.(directory, options);
}

/** The kinds of cert-manager, without the labels that its Helm chart would fill in. */
async function certManagerDefinitions(directory: string, options: GoOptions): Promise<void> {
  const module = 'github.com/cert-manager/cert-manager';
  const crds = path.join((await run('go', ['list', '-m', '-f', '{{.Dir}}', module], options)).trim(), 'deploy/crds');
  const files = (await readdir(crds)).filter((name) => name.endsWith('.yaml')).toSorted();
  const texts = await Promise.all(files.map((name) => readFile(path.join(crds, name), 'utf8')));
  const documents = texts.map((text) => text.replaceAll(/^.*\{\{.*\n/gm, '').replace(/^ {2}labels:\n(?! {4})/m, ''));
  await writeFile(path.join(directory, 'crds.yaml'), documents.join('\n---\n'));
}

/** kwok simulates nothing without its stages; the module ships them as one file each. */
async function kwokStages(directory: string, options: GoOptions): Promise<void> {
  const root = (await run('go', ['list', '-m', '-f', '{{.Dir}}', 'sigs.k8s.io/kwok'], options)).trim();
  const documents: string[] = [];
  for (const folder of KWOK_STAGES) {
    const stages = path.join(root, 'kustomize/stage', folder);
    for (const file of (await readdir(stages)).toSorted()) {
      if (file !== 'kustomization.yaml' && file.endsWith('.yaml'))
        documents.push(await readFile(path.join(stages, file), 'utf8'));
    }
  }
  await writeFile(path.join(directory, 'stages.yaml'), documents.join('\n---\n'));
}
