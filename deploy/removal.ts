/** Takes the operator out of a cluster again, in an order in which nothing is left behind and nothing waits for what is gone. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../devcluster/problem.ts';
import { isDeployment, type Manifest, manifests, textOf } from './manifests.ts';
import type { Target } from './target.ts';

export interface RemovalOptions {
  readonly target: Target;
  /** The definition of Memcacheds stays, and with it all Memcacheds and what they own. */
  readonly keepCrd: boolean;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

const MEMCACHEDS = 'memcacheds.memcached.c5c3.io';
const CRD = `customresourcedefinition/${MEMCACHEDS}`;
const PATIENCE_MS = 120_000;
const MOST_LINES = 20;
const SAY_EVERY_MS = 5000;
/** Whatever a Memcached can own, and what follows from that. */
const OWNED = 'deployments,services,endpointslices,poddisruptionbudgets,networkpolicies,horizontalpodautoscalers,pods';
/** Webhooks that nobody answers would refuse every change, also those of the garbage collector. */
const WEBHOOKS = 'mutatingwebhookconfigurations,validatingwebhookconfigurations';

/** Removes everything that is in the manifests, and what local operators may have left. */
export async function remove(options: RemovalOptions): Promise<void> {
  const { target, keepCrd } = options;
  const all = await manifests(target);
  const isOther = (one: Manifest) => !isDeployment(one) && !isNamespace(one) && !isCrd(one);
  await drop(options, [WEBHOOKS, '-l', 'app.kubernetes.io/name=memcached-operator']);
  if (!keepCrd) await removeMemcacheds(options);
  await drop(options, ['-f', '-', '--cascade=foreground'], all.filter(isDeployment)); // its pods still use the rest
  await drop(options, ['-f', '-'], all.filter(isOther));
  if (!keepCrd) await drop(options, [CRD]);
  await drop(options, ['-f', '-'], all.filter(isNamespace));
}

const isNamespace = ({ kind }: Manifest) => kind === 'Namespace';
const isCrd = ({ kind }: Manifest) => kind === 'CustomResourceDefinition';

async function drop({ target, say }: RemovalOptions, what: readonly string[], objects?: Manifest[]): Promise<void> {
  const input = objects && textOf(objects);
  const flags = ['--ignore-not-found', `--timeout=${PATIENCE_MS / 1000}s`];
  const removed = await target.kubectl(['delete', ...what, ...flags], input).catch((error: unknown) => {
    throw new Problem(
      'Not everything could be removed.',
      'See what holds it (a finalizer?), then run the same command again: it goes on from here.',
      { cause: error },
    );
  });
  const lines = removed
    .trim()
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('No resources'));
  for (const line of lines.slice(0, MOST_LINES)) say(line);
  if (lines.length > MOST_LINES) say(`… and ${lines.length - MOST_LINES} more`);
}

/** While their definition is there, so that the garbage collector knows what it collects. */
async function removeMemcacheds(options: RemovalOptions): Promise<void> {
  if ((await options.target.kubectl(['get', CRD, '--ignore-not-found', '-o', 'name'])) === '') return;
  await drop(options, [MEMCACHEDS, '--all', '--all-namespaces', '--wait=false']);
  await untilGone(options, 'Memcacheds', [MEMCACHEDS]);
  await untilGone(options, 'objects of Memcacheds', [OWNED, '-l', 'app.kubernetes.io/managed-by=memcached-operator']);
}

/** Patient as long as they get fewer. */
async function untilGone(
  { target, say, signal }: RemovalOptions,
  name: string,
  what: readonly string[],
): Promise<void> {
  let [count, deadline, saying] = [0, 0, 0];
  for (;;) {
    const left = (await target.kubectl(['get', ...what, '--all-namespaces', '-o', 'name'])).trim();
    if (left === '') return;
    const { length } = left.split('\n');
    if (length !== count) deadline = performance.now() + PATIENCE_MS;
    count = length;
    if (performance.now() >= saying) {
      say(`  ${length} ${name} are still there`);
      saying = performance.now() + SAY_EVERY_MS;
    }
    if (performance.now() > deadline) {
      throw new Problem(
        `These ${name} do not go:\n${left}`,
        'See what holds them (a finalizer? no kube-controller-manager?), then run the same command again.',
      );
    }
    await sleep(500, undefined, { signal });
  }
}
