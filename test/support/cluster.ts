/** Embedded clusters for tests: real ones, with names of their own. */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { kubectl } from '../../devcluster/api.ts';
import type { CommandOptions } from '../../devcluster/command.ts';
import { down } from '../../devcluster/down.ts';
import { type Instance, type NodeForm, placeOf } from '../../devcluster/instance.ts';
import { up } from '../../devcluster/up.ts';

export const ROOT = path.resolve(import.meta.dirname, '../..');

export interface TestCluster {
  readonly instance: Instance;
  /** What the launcher printed at its last start. */
  readonly printed: string;
  kubectl(args: readonly string[], options?: Pick<CommandOptions, 'input' | 'signal'>): Promise<string>;
}

export interface TestClusterOptions {
  readonly name: string;
  readonly form: NodeForm;
  readonly root?: string;
  readonly audit?: boolean;
  readonly fakeNodes?: number;
  readonly apiserverArgs?: readonly string[];
  readonly controllerManagerArgs?: readonly string[];
  readonly signal?: AbortSignal;
}

/** Starts the cluster, or heals it, as `make cluster` does. */
export async function startCluster(options: TestClusterOptions): Promise<TestCluster> {
  const {
    name,
    form,
    root = ROOT,
    audit = false,
    fakeNodes = 1,
    apiserverArgs = [],
    controllerManagerArgs = [],
    signal = new AbortController().signal,
  } = options;
  let printed = '';
  const output = {
    write(text: string) {
      printed += text;
      return process.stdout.write(text);
    },
  };
  const cluster = {
    root,
    name,
    form,
    audit,
    fakeNodes,
    apiserverArgs,
    controllerManagerArgs,
    scale: form === 'fake',
    startedBy: 'cluster',
  } as const;
  const instance = await up({ ...cluster, signal, output });
  const started: TestCluster = { instance, printed, kubectl: (args, extra) => kubectl(instance, args, extra) };
  running.set(instance.id, started);
  return started;
}

const running = new Map<string, TestCluster>();

/** Those that this process has started and not stopped. */
export function runningClusters(): readonly TestCluster[] {
  return [...running.values()];
}

/** Removes the cluster. Tells whether there was one. */
export function stopCluster({ name, root = ROOT }: Pick<TestClusterOptions, 'name' | 'root'>): Promise<boolean> {
  running.delete(placeOf(root, name).id);
  return down(root, name, {});
}

/** Waits, generously, until something is so, and fails with what was seen last. Looks often at first, and then less and less. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T>,
  isRight: (seen: T) => boolean,
  signal: AbortSignal,
): Promise<T> {
  const deadline = performance.now() + 180_000;
  let pauseMs = 50;
  let seen: T | Error;
  do {
    signal.throwIfAborted();
    seen = await look().catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
    if (!(seen instanceof Error) && isRight(seen)) return seen;
    await sleep(pauseMs, undefined, { signal });
    pauseMs = Math.min(500, pauseMs * 1.5);
  } while (performance.now() < deadline);
  const shown = seen instanceof Error ? seen.message : JSON.stringify(seen);
  throw new Error(`${what}: not so after 180 s; last seen: ${shown}`);
}
