/** The operator as `make deploy` puts it into a cluster: an embedded one with real nodes, or the one that E2E_KUBECONFIG names. */
import { homedir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { type CommandOptions, run, WITHOUT_PROXY } from '../../devcluster/command.ts';
import { kubeconfigOf } from '../../devcluster/instance.ts';
import { programPath } from '../../devcluster/programs.ts';
import { type Client, createClient, findAccess } from '../../src/runtime/client/index.ts';
import { eventually, startCluster, stopCluster, type TestCluster, type TestClusterOptions } from './cluster.ts';
import { deploy } from './command-line.ts';
import { alsoAsk, watchOver } from './evidence.ts';
import { memcached } from './memcacheds.ts';
import { OPERATOR_NAMESPACE } from './operator.ts';

/** Somebody's cluster, chosen on purpose: KUBECONFIG alone never does it. */
const OTHER = process.env['E2E_KUBECONFIG'] || undefined;
const IMAGE = process.env['IMG'] || undefined;

export const SYSTEM = ['--namespace', OPERATOR_NAMESPACE] as const;
export const OPERATOR = 'memcached-operator-controller-manager';
const OPERATOR_PODS = ['pods', '-l', 'app.kubernetes.io/name=memcached-operator'];

export interface Deployed {
  /** The administrator's. */
  readonly client: Client;
  /** Missing ELSEWHERE. */
  readonly cluster: TestCluster;
  readonly options: TestClusterOptions;
  /** By which programs find the cluster. */
  readonly env: Readonly<Record<string, string>>;
  kubectl(args: readonly string[], options?: Pick<CommandOptions, 'input' | 'signal'>): Promise<string>;
}

/** Tests that do something to nodes or to the control plane are skipped there. */
export const ELSEWHERE = OTHER !== undefined;

/** One cluster with the operator for all tests of a file. What they leave in it besides is named here, as kubectl does: nothing of it stays ELSEWHERE. */
export function deployed(name: string, leftovers: readonly string[] = []): Deployed {
  const options = { name, form: 'real' } as const;
  const ended = new AbortController();
  const built = { options } as { -readonly [Name in keyof Deployed]: Deployed[Name] };
  beforeAll(async () => {
    if (OTHER === undefined) {
      await stopCluster(options);
      built.cluster = await startCluster(options);
    }
    const kubeconfig = OTHER ?? kubeconfigOf(built.cluster.instance);
    const env = OTHER === undefined ? WITHOUT_PROXY : {};
    built.env = { ...env, KUBECONFIG: kubeconfig };
    built.kubectl = (args, extra) =>
      run(programPath('kubectl'), [`--kubeconfig=${kubeconfig}`, ...args], { ...extra, env });
    if (OTHER !== undefined) {
      alsoAsk(built);
      await requireUntouched(built);
    }
    built.client = await clientOf(kubeconfig);
    await watchOver(name, async () => {
      await bring('up', kubeconfig, ended.signal);
      await untilAdmitting(built, ended.signal);
    });
  });
  afterAll(async () => {
    ended.abort();
    if (OTHER !== undefined && built.client) {
      await bring('down', OTHER, new AbortController().signal);
      if (leftovers.length > 0) await built.kubectl(['delete', '--ignore-not-found', ...leftovers]);
    }
    await built.client?.close();
    if (OTHER === undefined) await stopCluster(options);
  });
  return built;
}

/** What is removed at the end must have been ours. */
async function requireUntouched({ kubectl }: Pick<Deployed, 'kubectl'>): Promise<void> {
  const found = await kubectl(['get', 'crd', 'memcacheds.memcached.c5c3.io', '--ignore-not-found', '-o', 'name']);
  if (found === '') return;
  throw new Error(
    `the cluster of E2E_KUBECONFIG=${OTHER} has Memcacheds already; what to do: name a cluster without them, for the tests remove them in the end`,
  );
}

async function clientOf(kubeconfig: string): Promise<Client> {
  return createClient({ access: await findAccess({ kubeconfig, env: {}, home: homedir() }), userAgent: 'test/1' });
}

async function bring(command: 'up' | 'down', kubeconfig: string, signal: AbortSignal): Promise<void> {
  const env = { KUBECONFIG: kubeconfig, PATH: `${path.dirname(programPath('kubectl'))}:${process.env['PATH']}` };
  const image = IMAGE === undefined ? [] : ['--image', IMAGE];
  // Other tests build theirs at the same time.
  const archive = ['--archive', path.join(path.dirname(kubeconfig), 'image.tar')];
  const { code, stderr } = await deploy([command, ...image, ...archive], { env, signal });
  if (code !== 0) throw new Error(`deploy ${command} failed: ${stderr}`);
}

/** Resolves when Memcacheds can be created: nodes may learn where the webhooks are after those are ready. */
export async function untilAdmitting({ kubectl }: Pick<Deployed, 'kubectl'>, signal: AbortSignal): Promise<void> {
  const input = JSON.stringify(memcached('trial'));
  const attempt = () => kubectl(['create', '--dry-run=server', '-f', '-'], { input, signal });
  await eventually('Memcacheds can be created', attempt, Boolean, signal);
}

/** The names of the operator's pods that are not on their way out. */
export async function operatorPods({ kubectl }: Pick<Deployed, 'kubectl'>): Promise<string[]> {
  const text = await kubectl([...SYSTEM, 'get', ...OPERATOR_PODS, '-o', 'json']);
  const { items } = JSON.parse(text) as { items: { metadata: { name: string; deletionTimestamp?: string } }[] };
  return items.filter(({ metadata }) => !metadata.deletionTimestamp).map(({ metadata }) => metadata.name);
}

/** As `kill -9` of all replicas: nobody finishes anything, and nobody gives a Lease back. */
export async function killOperator({ kubectl }: Pick<Deployed, 'kubectl'>): Promise<void> {
  await kubectl([...SYSTEM, 'delete', ...OPERATOR_PODS, '--grace-period=0', '--force', '--wait=false']);
}

export function untilDeployed({ kubectl }: Pick<Deployed, 'kubectl'>, signal: AbortSignal): Promise<string> {
  return kubectl([...SYSTEM, 'rollout', 'status', 'deployment', OPERATOR, '--timeout=180s'], { signal });
}
